// How a stream of a client ends when not with its container's whole response: our own answers,
// timers, and what either side broke off.
#include "common/net/h2/h2_connection.h"
#include "common/net/h2/h2_stream.h"
#include "common/net/server/proxy_server.h"

#include <utility>

namespace sluice::net {

using http::Known;

bool H2Stream::is_grpc() const {
  return head_.fields.get(Known::content_type).starts_with("application/grpc");
}

void H2Stream::answer(const http::OwnResponse& response, Timer fired) {
  detach();
  phase_ = Phase::answering;
  const bool grpc = response.error && is_grpc();
  const bool problem = !grpc && head_.fields.get(Known::accept).find("application/problem+json") !=
                                    std::string_view::npos;
  http::OwnResponse told = problem ? http::as_problem_json(response) : response;
  if (told.error) connection_.server_.gateway_.explain(*this, told);
  const bool has_body = !grpc && head_.method != "HEAD" && !told.body.empty();
  if (has_body) traffic_.response_bytes = told.body.size();
  const Outcome outcome{fired == Timer::none ? Outcome::End::own : Outcome::End::timed_out,
                        told.status, told.error, fired};
  if (!begun_) connection_.server_.gateway_.refused(*this, outcome);
  conclude(outcome);
  block_.clear();
  if (grpc) {
    http::write_grpc_block(block_, told);
  } else {
    http::write_own_block(block_, told);
  }
  connection_.consumed(id_, in_.size());
  in_.drop();
  out_.drop();
  if (has_body) out_.put(told.body);
  response_complete_ = true;
  start_response(block_, has_body);
}

void H2Stream::on_timeout(Timer timer) {
  if (!begun_) {
    // Answered, and its client has not taken the answer.
    linger_due_ = {};
    connection_.reset(id_, H2Error::cancel);
    return;
  }
  if (!response_begun_) {
    answer(timers_.response(timer, connection_.server_.gateway_), timer);
    return;
  }
  const Outcome outcome{Outcome::End::timed_out, response_.status, Error::deadline_exceeded, timer};
  if (!is_grpc()) {
    abort(H2Error::cancel, outcome);
    return;
  }
  // A gRPC client understands trailers better than a reset; they cannot pass what it does not take.
  if (!out_.empty() || timer == Timer::write) {
    abort(H2Error::cancel, outcome);
    return;
  }
  detach();
  trailers_out_.clear();
  trailers_out_.add("grpc-status", "4");
  trailers_out_.add("grpc-message", "request timeout");
  response_complete_ = true;
  conclude(outcome);
  more_response();
}

void H2Stream::abort(H2Error code, const Outcome& outcome) {
  detach();
  conclude(outcome);
  phase_ = Phase::closed;
  connection_.reset(id_, code);
}

void H2Stream::on_broken() {
  const Error error = too_large_.empty() ? Error::bad_request : Error::too_large;
  const Outcome refused{Outcome::End::own, http::response_for(error).status, error, Timer::none};
  if (phase_ == Phase::head) {
    phase_ = Phase::closed;
    connection_.server_.gateway_.refused(*this, refused);
    return;
  }
  if (!begun_) return;  // it has been concluded, and the reset is our own
  detach();
  phase_ = Phase::closed;
  conclude(response_begun_ ? Outcome{Outcome::End::aborted, response_.status, error, Timer::none}
                           : refused);
}

void H2Stream::on_unsendable() {
  abort(H2Error::internal,
        {Outcome::End::aborted, response_.status, Error::upstream_invalid, Timer::none});
}

void H2Stream::conclude(const Outcome& outcome) {
  timers_.set({});
  if (!begun_) return;
  begun_ = false;
  write_due_ = {};
  if (const Duration limit = connection_.server_.limits_.write_timeout; limit != Duration{0}) {
    linger_due_ = connection_.server_.clock_.now() + limit;
    connection_.arm_timer(linger_due_);
  }
  connection_.server_.gateway_.end(*this, outcome);
  connection_.server_.ended();
}

void H2Stream::on_closed() {
  detach();
  conclude({Outcome::End::client_gone, 0, Error::client_gone, Timer::none});
  linger_due_ = {};
  phase_ = Phase::closed;
  in_.drop();
  out_.drop();
  give_window_back();
  give_memory_back();
}

// What a long head took: the stream may wait for its next request.
void H2Stream::give_memory_back() {
  const std::size_t held = head_.memory() + response_.fields.memory() + trailer_bytes_;
  if (held <= kUsualHead) return;
  // An empty text assigned would keep the memory.
  static_cast<void>(std::exchange(head_, {}));
  static_cast<void>(std::exchange(response_, {}));
  static_cast<void>(std::exchange(block_, {}));
  static_cast<void>(std::exchange(trailers_in_, {}));
  static_cast<void>(std::exchange(trailers_out_, {}));
  std::string{}.swap(extra_);
  connection_.server_.pages_.freed(2 * held);
}

ExchangeTimers::Due H2Stream::next_due() const {
  if (!begun_) {
    return {linger_due_ == TimePoint{} ? TimePoint::max() : linger_due_, Timer::none};
  }
  using Sent = ExchangeTimers::Sent;
  ExchangeTimers::Due due = timers_.next(response_begun_ ? Sent::response
                                         : interim_sent_ ? Sent::interim
                                                         : Sent::nothing);
  if (write_due_ != TimePoint{} && write_due_ < due.at) due = {write_due_, Timer::write};
  return due;
}

}  // namespace sluice::net
