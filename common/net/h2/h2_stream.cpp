#include "common/net/h2/h2_stream.h"

#include "common/base/check.h"
#include "common/http/head_check.h"
#include "common/net/h2/h2_connection.h"
#include "common/net/peer_socket.h"
#include "common/net/server/proxy_server.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace sluice::net {

using http::Known;

namespace {

// A stream's window, either way, begins small and grows as its body proves to be long and to be
// taken; what it grew by is claimed from its connection (h2_connection.h).
constexpr std::size_t kUploadGrowsAt = 32 * 1024;  // the container took it and nothing waits
constexpr std::size_t kLongBody = 12 * 1024;       // near the end of the first window
constexpr std::size_t kFlowingBody = 64 * 1024;    // the client took it and nothing waits
constexpr std::size_t kLongWindow = 64 * 1024;
constexpr std::size_t kFlowingWindow = 256 * 1024;
constexpr std::size_t kWholeBodyMax = 65'535;  // the first window of a stream: no more can come
constexpr std::size_t kSessionBytes = 2560;    // what the session keeps of a stream (h2_memory.cpp)

}  // namespace

H2Stream::H2Stream(H2Connection& connection, std::unique_ptr<ExchangeState> state)
    : connection_{connection} {
  state_ = std::move(state);
}

H2Stream::~H2Stream() = default;

std::size_t H2Stream::memory() const {
  return sizeof *this + kSessionBytes + in_.capacity() + out_.capacity() + 2 * head_.memory() +
         trailer_bytes_;
}

std::size_t H2Stream::head_memory() const {
  return reading_trailers_ ? trailer_bytes_ : head_.memory();
}

void H2Stream::crowd_out() {
  crowded_out_ = true;
  if (reading_trailers_) {
    static_cast<void>(std::exchange(trailers_in_, {}));
    trailer_bytes_ = 0;
  } else {
    static_cast<void>(std::exchange(head_.fields, {}));
  }
}

std::optional<std::uint32_t> H2Stream::peer_user() {
  return net::peer_user(connection_.stream().native_handle());
}

void H2Stream::open(std::int32_t id, std::string_view peer_ip, bool peer_local) {
  id_ = id;
  peer_ip_.assign(peer_ip);
  peer_local_ = peer_local;
  secure_ = connection_.stream().encrypted();
  head_.clear();
  head_.version_major = 2;
  head_.version_minor = 0;
  trailer_bytes_ = 0;
  trailers_in_.clear();
  trailers_out_.clear();
  in_.drop();
  out_.drop();
  window_ = H2Upstream::kFirstWindow;
  claimed_ = 0;
  traffic_ = {};
  phase_ = Phase::head;
  begun_ = head_only_ = waited_ = client_done_ = upstream_starved_ = repeated_ = false;
  interim_sent_ = response_begun_ = response_complete_ = client_starved_ = window_grown_ = false;
  reading_trailers_ = body_sent_ = crowded_out_ = false;
  too_large_ = {};
  write_due_ = {};
}

void H2Stream::open_upgraded(http::RequestHead head, std::string_view body) {
  head_ = std::move(head);
  in_.put(body);
  client_done_ = true;
}

void H2Stream::on_head(bool ended) {
  if (reading_trailers_) {
    if (crowded_out_) {  // trailers that are lost must not look like none
      connection_.reset(id_, H2Error::enhance_your_calm);
      return;
    }
    on_client_end();
    return;
  }
  client_done_ = client_done_ || ended;
  if (!head_.fields.get(Known::content_length).empty()) {
    head_.framing = http::Framing::length;
    for (const char digit : head_.fields.get(Known::content_length)) {
      head_.content_length = head_.content_length * 10 + static_cast<std::uint64_t>(digit - '0');
    }
  } else {
    head_.framing = ended ? http::Framing::none : http::Framing::chunked;
  }
  if (crowded_out_) {
    answer(open_heads_full(), Timer::none);
    return;
  }
  if (!too_large_.empty()) {
    answer(http::response_for(Error::too_large, {}, too_large_), Timer::none);
    return;
  }
  if (head_.memory() > kUsualHead) head_.fields.shrink();
  // Here the authority has a field of its own; a target that named another would be a second Host.
  const bool no_target = head_.method == "CONNECT" && head_.target.empty();  // as it should be
  const bool sound =
      http::is_target(head_.method, head_.target) &&
      (head_.target.front() == '/' || head_.target == "*" || head_.method == "CONNECT");
  if (!no_target && !sound) {
    answer(http::response_for(Error::bad_request, {}, "reason=target"), Timer::none);
    return;
  }
  if (const std::string_view problem = http::host_problem(head_); !problem.empty()) {
    answer(http::response_for(Error::bad_request, {}, problem), Timer::none);
    return;
  }
  begin();
}

void H2Stream::begin() {
  arrived_ = connection_.head_began_;
  timers_.begin(arrived_);
  begun_ = true;
  phase_ = Phase::held;
  connection_.server_.begun();
  connection_.server_.gateway_.begin(*this);
}

void H2Stream::set_timeouts(const Timeouts& timeouts) {
  timers_.set(timeouts);
  connection_.arm_timer(next_due().at);
}

void H2Stream::hold() {
  CHECK(begun_);
  waited_ = true;
  detach();
  phase_ = Phase::held;
}

void H2Stream::forward(UpstreamPool& pool, const http::RequestRewrite& rewrite) {
  CHECK(begun_ && !body_sent_);
  detach();
  if (traffic_.dispatched == TimePoint{}) {
    traffic_.dispatched = waited_ ? connection_.server_.clock_.now() : arrived_;
  }
  pool_ = &pool;
  phase_ = Phase::relaying;
  repeated_ = false;
  http::RequestRewrite addressed = rewrite;
  addressed.address = pool.authority();
  if (head_.version_major == 1 || pool.limits().h1_only) {
    forward_h1(addressed);
    return;
  }
  block_.clear();
  http::write_request_block(block_, head_, addressed);
  submit_upstream();
}

// A body of unknown length is one chunk: all of it arrives before the request is passed on.
void H2Stream::forward_h1(const http::RequestRewrite& rewrite) {
  h1_request_.clear();
  http::write_request_head(h1_request_, head_, rewrite);
  send_h1_when_whole();
}

void H2Stream::send_h1_when_whole() {
  if (h1_request_.empty()) return;
  if (!client_done_) {
    if (in_.size() < kWholeBodyMax) return;
    http::OwnResponse refusal = http::response_for(
        Error::too_large, "request body too large over HTTP/2; send it over HTTP/1.1\n",
        "limit=" + std::to_string(kWholeBodyMax));
    refusal.status = 413;
    answer(refusal, Timer::none);
    return;
  }
  const bool chunked = head_.framing == http::Framing::chunked;
  if (chunked && !in_.empty()) {
    std::array<char, 16> digits{};
    const auto [end, ec] =
        std::to_chars(digits.data(), digits.data() + digits.size(), in_.size(), 16);
    h1_request_.append(digits.data(), end).append("\r\n");
  }
  h1_request_.append(in_.data());
  if (chunked) h1_request_.append(in_.empty() ? "0\r\n\r\n" : "\r\n0\r\n\r\n");
  body_sent_ = !in_.empty();
  traffic_.request_bytes = in_.size();
  const bool repeatable = pool_->limits().repeat_repeatable && head_.repeatable();
  h1_leg_ = std::make_unique<H1Leg>(
      *pool_, static_cast<H2UpstreamUser&>(*this), std::exchange(h1_request_, {}),
      head_.method == "HEAD", repeatable ? H1Leg::Connection::pooled : H1Leg::Connection::fresh);
}

void H2Stream::submit_upstream() {
  window_ = H2Upstream::kFirstWindow;
  upstream_ = &pool_->h2().with_room();
  upstream_starved_ = false;
  response_.clear();
  upstream_id_ =
      upstream_->submit(*this, block_, !client_done_ || !in_.empty() || !trailers_in_.empty());
}

void H2Stream::detach() {
  h1_leg_.reset();
  h1_request_.clear();
  if (upstream_ == nullptr) return;
  H2Upstream* upstream = upstream_;
  upstream_ = nullptr;
  upstream->forget(upstream_id_);
}

// Of the response's window: towards the container, `to` bytes in all, if the connection has them.
void H2Stream::grow_window(std::size_t to) {
  if (upstream_ == nullptr || !connection_.claim_window(to - window_)) return;
  claimed_ += to - window_;
  window_ = to;
  upstream_->grow_window(upstream_id_, to);
}

void H2Stream::grow_upload() {
  const bool flows = in_.empty() && !client_done_ && traffic_.request_bytes >= kUploadGrowsAt;
  if (!flows || window_grown_ || !connection_.claim_window(kFlowingWindow - kLongWindow)) return;
  window_grown_ = true;
  claimed_ += kFlowingWindow - kLongWindow;
  connection_.grow_window(id_, kFlowingWindow);
}

void H2Stream::give_window_back() {
  connection_.return_window(claimed_);
  claimed_ = 0;
}

void H2Stream::on_client_data(std::string_view content) {
  if (phase_ == Phase::answering || phase_ == Phase::closed || response_complete_) {
    connection_.consumed(id_, content.size());  // it is no longer needed
    return;
  }
  in_.put(content);
  if (phase_ == Phase::held) {
    connection_.server_.gateway_.grew(*this);
  } else {
    wake_upload();
    send_h1_when_whole();
  }
}

void H2Stream::on_client_end() {
  client_done_ = true;
  if (phase_ == Phase::held && trailer_bytes_ > 0) {
    connection_.server_.gateway_.grew(*this);
  } else {
    wake_upload();
    send_h1_when_whole();
  }
}

// An upstream that answered early, failed or was let go may be gone while the body still comes.
void H2Stream::wake_upload() {
  const bool starved = std::exchange(upstream_starved_, false);
  if (starved && upstream_ != nullptr) upstream_->resume(upstream_id_);
}

H2UpstreamUser::Body H2Stream::read_request_body(char* to, std::size_t room) {
  const std::size_t size = in_.take(to, room);
  if (size > 0) {
    body_sent_ = true;
    traffic_.request_bytes += size;
    connection_.consumed(id_, size);
    grow_upload();
  }
  const bool ended = client_done_ && in_.empty();
  upstream_starved_ = size == 0 && !ended;
  return {size, ended};
}

void H2Stream::on_upstream_interim() {
  if (response_begun_ || response_.status == 101) return;
  interim_sent_ = true;
  http::HeaderBlock block;
  http::write_response_block(block, response_, {});
  connection_.submit_interim(id_, block);
}

void H2Stream::on_upstream_head(bool ended) {
  extra_.clear();
  if (connection_.server_.gateway_.response(*this, response_, extra_) == ResponseVerdict::retried) {
    return;
  }
  block_.clear();
  http::write_response_block(block_, response_, extra_);
  head_only_ = ended;
  start_response(block_, !ended);
}

void H2Stream::start_response(const http::HeaderBlock& block, bool has_body) {
  response_begun_ = true;
  if (timers_.watch_idle()) timers_.moved(connection_.server_.clock_.now());
  connection_.submit_head(id_, block, has_body);
}

void H2Stream::on_upstream_data(std::string_view content) {
  traffic_.response_bytes += content.size();
  const bool first = out_.empty();
  out_.put(content);
  if (first) note_write_progress();
  if (window_ < kLongWindow && traffic_.response_bytes >= kLongBody) grow_window(kLongWindow);
  more_response();
}

void H2Stream::on_upstream_trailer(std::string_view name, std::string_view value) {
  trailers_out_.add(name, value);
}

void H2Stream::on_upstream_end() {
  upstream_ = nullptr;
  response_complete_ = true;
  if (head_only_) {
    conclude({Outcome::End::answered, response_.status, {}, Timer::none});
    return;
  }
  if (out_.empty()) note_write_progress();
  more_response();
}

void H2Stream::more_response() {
  if (!client_starved_) return;
  client_starved_ = false;
  connection_.resume(id_);
}

// The time within which the client has to take more of what waits for it, if there is such a limit:
// its end and the trailers too need a window, of the stream and of the connection, and the socket.
void H2Stream::note_write_progress() {
  const Duration limit = connection_.server_.limits_.write_timeout;
  write_due_ = {};
  if (limit == Duration{0} || (out_.empty() && !response_complete_)) return;
  write_due_ = connection_.server_.clock_.now() + limit;
  connection_.arm_timer(write_due_);
}

H2UpstreamUser::Body H2Stream::read_response(char* to, std::size_t room) {
  const std::size_t size = out_.take(to, room);
  if (size > 0) {
    if (timers_.watch_idle()) timers_.moved(connection_.server_.clock_.now());
    if (upstream_ != nullptr) {
      upstream_->consumed(upstream_id_, size);
      const bool flows = out_.empty() && traffic_.response_bytes >= kFlowingBody;
      if (flows && window_ < kFlowingWindow) grow_window(kFlowingWindow);
    }
    if (h1_leg_) h1_leg_->consumed(size);
  }
  const bool ended = response_complete_ && out_.empty();
  client_starved_ = size == 0 && !ended;
  if (size > 0) note_write_progress();
  if (ended) {
    const int status = response_.status;
    detach();
    conclude({Outcome::End::answered, status, {}, Timer::none});
  }
  return {size, ended};
}

void H2Stream::on_upstream_failed(const H2Failure& failure) {
  upstream_ = nullptr;
  if (response_begun_) {
    abort(H2Error::internal,
          {Outcome::End::aborted, response_.status, failure.cause.error, Timer::none});
    return;
  }
  // What was read from the body is gone; a repeat needs all of it.
  const bool may_repeat =
      failure.unprocessed ||
      (failure.reused && pool_->limits().repeat_repeatable && head_.repeatable());
  const bool connect_failed = failure.cause.error == Error::upstream_connect;
  if (may_repeat && !repeated_ && !body_sent_ && !interim_sent_ && !connect_failed &&
      h1_leg_ == nullptr) {
    repeated_ = true;
    submit_upstream();
    return;
  }
  phase_ = Phase::held;
  ConnectFailure told = failure.cause;
  told.unbegun = failure.unprocessed;
  if (connection_.server_.gateway_.upstream_failed(*this, told)) return;
  answer(http::response_for(told.error, told.text), Timer::none);
}

void H2Stream::respond(const http::OwnResponse& response) {
  CHECK(begun_ && !response_begun_);
  answer(response, Timer::none);
}

}  // namespace sluice::net
