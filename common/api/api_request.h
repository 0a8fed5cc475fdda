#pragma once

#include "common/api/api_text.h"
#include "common/api/change_access.h"
#include "common/api/event_ring.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

// One request of an HTTP+JSON API and its answer, as the server passes them on and takes them.
namespace sluice::api {

/// What a request has shown of its sender; each includes what is before it.
enum class Proof : std::uint8_t {
  none,      ///< nothing but that it comes from where the door answers
  own_user,  ///< it may read all: of one machine, the program's own user sends it
  socket,    ///< it came over a socket that only the program's own user can open
};

/// One request, read whole.
struct ApiRequest {
  std::string method;
  std::string target;  ///< path with query
  std::string body;
  std::string last_event_id;         ///< header Last-Event-ID
  std::string if_none_match = {};    ///< header If-None-Match
  std::string accept_encoding = {};  ///< header Accept-Encoding
  Proof proof = Proof::none;
  ChangeFields change = {};  ///< views that hold while the request is answered
};

/// What a stream shows beside events: the state of something, of which a reader that is slow gets
/// the newest only. One reader's own.
class ApiStates {
 public:
  ApiStates() = default;
  ApiStates(const ApiStates&) = delete;
  ApiStates& operator=(const ApiStates&) = delete;
  virtual ~ApiStates() = default;

  /// `news` is called when take() may have something.
  virtual void on_news(std::function<void()> news) = 0;

  /// What is new since the last call, as text of the stream; empty: nothing is.
  [[nodiscard]] virtual std::string take() = 0;
};

/// Events that follow the first body of an answer, until the client leaves.
struct ApiStream {
  EventFilter filter = {};
  std::uint64_t after = 0;  ///< the last event id seen
  bool sse = true;          ///< server-sent events, with comments for gaps and silence
  /// The text of one event; empty for one that the client does not get.
  std::function<std::string(const Event&)> text_of = {};
  /// Null: there are events only. Read after the events that are there.
  std::shared_ptr<ApiStates> states = {};
  /// What a reader gets that missed events; empty: a comment.
  std::string missed_text = {};
  /// Let go when the stream ends, or could not begin.
  std::shared_ptr<void> hold = {};
};

/// An answer, and what follows it.
struct ApiAnswer : http::ApiAnswer {
  using Later = std::function<void(http::ApiAnswer)>;

  std::optional<ApiStream> stream = {};
  /// Set: what follows the body. It is made in several turns of the loop, so that a long answer
  /// holds up nothing else.
  http::AnswerParts parts = {};
  /// Set: the answer is the one that this gives to its argument, once, on the server's thread. It
  /// may do so when the client is gone. `stream` follows it if its status is 200.
  std::function<void(Later)> later = {};
};

/// Answers the requests of an API. Called on the server's thread; returns at once.
class ApiSource {
 public:
  ApiSource() = default;
  ApiSource(const ApiSource&) = delete;
  ApiSource& operator=(const ApiSource&) = delete;
  virtual ~ApiSource() = default;

  [[nodiscard]] virtual ApiAnswer answer(const ApiRequest& request) = 0;

  /// What ApiAnswer::stream reads from; outlives every session of the server.
  [[nodiscard]] virtual EventRing& events() = 0;
};

}  // namespace sluice::api
