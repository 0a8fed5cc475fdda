#pragma once

#include "common/time/time_point.h"

#include "programs/sluice/engine/door_access.h"
#include "programs/sluice/engine/engine_api.h"
#include "programs/sluice/engine/event_ring.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::local {

/// One request of the API, read whole.
struct ApiRequest {
  std::string method;
  std::string target;  ///< path with query
  std::string body;
  std::string last_event_id;  ///< header Last-Event-ID
  Proof proof = Proof::none;  ///< what it opens: see answer_request
};

/// How an answer goes on after its first body.
enum class ApiAnswerKind {
  whole,      ///< nothing follows
  events,     ///< server-sent events from `after` on
  log_lines,  ///< text of log events from `after` on
  shutdown,   ///< the result of begin_shutdown is the body
};

/// What the server sends: an answer, and what follows it.
struct ApiAnswer : http::ApiAnswer {
  ApiAnswerKind kind = ApiAnswerKind::whole;
  EventFilter filter = {};    ///< of the kinds that go on
  std::uint64_t after = 0;    ///< likewise: the last event id seen
  Proof proof = Proof::none;  ///< of the request, for event_data
};

/// The routes of protocols.md 5 that one machine has. Pure but for what `api` does. What a client
/// is, what a replica printed and what a service is made of is for Proof::own_user; the values of
/// its environment, a new spec, a removal and the shutdown are for Proof::socket.
[[nodiscard]] ApiAnswer answer_request(EngineApi& api, const ApiRequest& request, TimePoint now);

/// The data of an event as a stream of that proof carries it; nothing when it carries none of it.
[[nodiscard]] std::optional<std::string> event_data(const Event& event, Proof proof);

/// One log event as `logs` prints it: `app-00001-1 | text`, ended by a newline.
[[nodiscard]] std::string log_line_of(const Event& event);

}  // namespace sluice::local
