#pragma once

#include "common/time/time_point.h"
#include "sluice/local/engine_api.h"
#include "sluice/local/event_ring.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::local {

/// One request of the API, read whole.
struct ApiRequest {
  std::string method;
  std::string target;  ///< path with query
  std::string body;
  std::string last_event_id;  ///< header Last-Event-ID
};

/// How an answer goes on after its first body.
enum class ApiAnswerKind {
  whole,      ///< nothing follows
  events,     ///< server-sent events from `after` on
  log_lines,  ///< text of log events from `after` on
  shutdown,   ///< the result of begin_shutdown is the body
};

/// What the server sends.
struct ApiAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;  ///< of a 405
  ApiAnswerKind kind = ApiAnswerKind::whole;
  EventFilter filter;       ///< of the kinds that go on
  std::uint64_t after = 0;  ///< likewise: the last event id seen
};

/// `problem` as application/problem+json.
[[nodiscard]] ApiAnswer problem_answer(const ApiProblem& problem);

/// The routes of protocols.md 5 that one machine has. Pure but for what `api` does.
[[nodiscard]] ApiAnswer answer_request(EngineApi& api, const ApiRequest& request, TimePoint now);

/// One log event as `logs` prints it: `app-00001-1 | text`, ended by a newline.
[[nodiscard]] std::string log_line_of(const Event& event);

}  // namespace sluice::local
