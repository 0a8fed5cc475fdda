#include "common/net/exchange.h"

#include "common/net/proxy_server.h"

#include <boost/asio/buffer.hpp>

#include <algorithm>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstBuffer = 4 * 1024;
constexpr std::size_t kKeptBuffer = 16 * 1024;
constexpr std::size_t kLingerBytesMax = 256 * 1024;
constexpr Duration kLingerTime = std::chrono::seconds{2};
constexpr Duration kAnswerTime = std::chrono::seconds{60};  // for a client that does not read
// A loopback peer that closes is an orphan a moment after its FIN is seen, so the first look may
// come too early; later looks find a peer that half-closed and left afterwards.
constexpr Duration kPeerCheckFirst = std::chrono::milliseconds{1};
constexpr Duration kPeerCheckMost = std::chrono::seconds{1};

std::string limit_text(Duration limit) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  if (milliseconds % 1000 == 0) return std::to_string(milliseconds / 1000) + "s";
  return std::to_string(milliseconds) + "ms";
}

}  // namespace

Exchange::Exchange(ProxyServer& server, Socket socket)
    : server_{server},
      socket_{std::move(socket)},
      timer_{server.io_},
      parser_{server.limits_.head_bytes_max} {}

Exchange::~Exchange() = default;

void Exchange::start() {
  prepare(socket_);
  error_code ec;
  const Endpoint peer = socket_.remote_endpoint(ec);
  if (ec) {
    close();
    return;
  }
  peer_ip_ = ip_of(peer);
  peer_local_ = is_local(peer);
  state_ = server_.gateway_.make_state();
  head_due_ = server_.clock_.now() + server_.limits_.head_timeout;
  arm_timer();
  want_client_read();
}

std::size_t Exchange::memory() const {
  return sizeof *this + in_.capacity() + out_.capacity() + request_out_.capacity();
}

void Exchange::want_client_read() {
  if (reading_ || client_ended_ || phase_ == Phase::closed || request_slice_ > 0) return;
  // Pipelined requests come first: the end that may stand behind them must not hide them.
  if (parser_.done() && !in_.empty()) return;
  if (in_.capacity() == 0) in_.reserve(kFirstBuffer);
  in_.compact();
  if (in_.room() == 0) {
    if (phase_ != Phase::head) return;
    in_.reserve(in_.capacity() * 2);
  }
  reading_ = true;
  ++operations_;
  in_.pin();
  socket_.async_read_some(
      asio::buffer(in_.tail(), in_.room()),
      [this](const error_code& ec, std::size_t bytes) { on_client_read(ec, bytes); });
}

void Exchange::on_client_read(const error_code& ec, std::size_t bytes) {
  --operations_;
  reading_ = false;
  in_.unpin();
  if (phase_ == Phase::closed) {
    release_if_done();
    return;
  }
  if (ec) {
    client_ended_ = true;
    if (ec == asio::error::eof) {
      on_client_end();
    } else {
      leave();
    }
    return;
  }
  in_.filled(bytes);
  switch (phase_) {
    case Phase::head:
      advance();
      break;
    case Phase::relaying:
      pump_request();
      break;
    case Phase::closing:
      lingered_ += in_.size();
      in_.consume(in_.size());
      if (lingered_ > kLingerBytesMax) {
        close();
      } else {
        want_client_read();
      }
      break;
    case Phase::held:
      watch();  // the next request is here already: only the kernel tells now when the client
                // leaves
      break;
    case Phase::connecting:
    case Phase::answering:
    case Phase::closed:
      break;
  }
}

void Exchange::on_client_end() {
  if (phase_ == Phase::head || phase_ == Phase::closing) {
    close();
  } else if (!parser_.done()) {
    leave();
  } else {
    peer_check_step_ = kPeerCheckFirst;
    check_peer();
  }
}

void Exchange::on_hangup() {
  watched_ = false;
  peer_check_step_ = kPeerCheckFirst;
  if (phase_ == Phase::held) check_peer();
}

// The client has finished sending. That alone is its right; only a client that is gone cancels. A
// remote client cannot be asked: while its request still waits here it is taken to have left, since
// waiting clients that give up are common and half-closing ones are not; once the request is with
// the user process it gets its answer.
void Exchange::check_peer() {
  const Peer peer = peer_after_eof(socket_);
  if (peer == Peer::gone || (peer == Peer::unknown && phase_ == Phase::held)) {
    leave();
    return;
  }
  if (peer == Peer::unknown) return;
  peer_check_at_ = server_.clock_.now() + peer_check_step_;
  peer_check_step_ = std::min(peer_check_step_ * 4, kPeerCheckMost);
  arm_timer();
}

void Exchange::leave() {
  detach_upstream(false);
  conclude(Outcome::End::client_gone, 0);
  close();
}

void Exchange::advance() {
  if (advancing_) return;
  advancing_ = true;
  while (phase_ == Phase::head && read_head()) begin();
  advancing_ = false;
  if (phase_ == Phase::head) want_client_read();
}

bool Exchange::read_head() {
  while (in_.data().starts_with("\r\n")) in_.consume(2);
  if (in_.empty()) {
    if (client_ended_) close();
    return false;
  }
  const http::Fed fed = parser_.feed_head(in_.data(), head_);
  switch (fed.state) {
    case http::Fed::State::done:
      in_.consume(fed.used);
      head_due_ = {};
      return true;
    case http::Fed::State::need_more:
      // What the parser has used (the start line) it keeps; the rest is given again with more.
      in_.consume(fed.used);
      if (head_due_ == TimePoint{}) {
        head_due_ = server_.clock_.now() + server_.limits_.head_timeout;
        arm_timer();
      }
      return false;
    case http::Fed::State::bad:
      answer(http::response_for(Error::bad_request), Outcome::End::own);
      return false;
    case http::Fed::State::too_large:
      answer(http::response_for(Error::too_large), Outcome::End::own);
      return false;
  }
  return false;
}

void Exchange::begin() {
  arrived_ = server_.clock_.now();
  last_write_ = arrived_;
  begun_ = true;
  phase_ = Phase::held;
  server_.begun();
  server_.gateway_.begin(*this);
}

void Exchange::set_timeouts(const Timeouts& timeouts) {
  timeouts_ = timeouts;
  arm_timer();
}

void Exchange::hold() {
  CHECK(begun_);
  detach_upstream(false);
  phase_ = Phase::held;
  if (parser_.done()) want_client_read();
  watch();
}

void Exchange::watch() {
  if (reading_ || watched_) return;
  watched_ = true;
  server_.hangups_.add(socket_.native_handle(), this);
}

void Exchange::unwatch() {
  if (!watched_) return;
  watched_ = false;
  server_.hangups_.remove(socket_.native_handle());
}

void Exchange::respond(const http::OwnResponse& response) {
  CHECK(begun_ && !response_begun_);
  answer(response, Outcome::End::own);
}

void Exchange::answer(const http::OwnResponse& response, Outcome::End end) {
  detach_upstream(false);
  drop_slice();
  if (begun_ && !parser_.done() && !in_.empty()) {
    in_.consume(parser_.feed_body(in_.data(), nullptr).used);
  }
  const bool keep = begun_ && parser_.done() && head_.keep_alive && !server_.closing_ &&
                    !client_ended_ && !response.close;
  const bool problem =
      begun_ && head_.fields.get(http::Known::accept).find("application/problem+json") !=
                    std::string_view::npos;
  const bool to_head = begun_ && head_.method == "HEAD";
  closing_after_ = !keep;
  conclude(end, response.status);
  out_.clear();
  http::write_own_response(out_, problem ? http::as_problem_json(response) : response, to_head,
                           keep);
  phase_ = Phase::answering;
  if (write_client(out_, {})) {
    client_written();
  } else if (phase_ == Phase::answering) {
    linger_due_ = server_.clock_.now() + kAnswerTime;
    arm_timer();
  }
}

// What the parser has seen of the body and no upstream took: it must never be read again.
void Exchange::drop_slice() {
  in_.consume(request_slice_);
  request_slice_ = 0;
}

void Exchange::finish() {
  // A failed write leaves its head or slice unsent.
  const bool sent = request_done_ && request_head_sent_ && request_slice_ == 0;
  const bool reusable = sent && response_.keep_alive && !upstream_->ended();
  const int status = response_.status;
  detach_upstream(reusable);
  drop_slice();
  conclude(Outcome::End::answered, status);
  if (phase_ == Phase::closed) return;
  // A client that was not told to leave keeps its connection, even when a drain began meanwhile.
  if (closing_after_ || client_ended_ || !parser_.done()) {
    close_gently();
  } else {
    next_request();
  }
}

void Exchange::next_request() {
  parser_.reset();
  out_.clear();
  extra_.clear();
  if (out_.capacity() > kKeptBuffer) out_.shrink_to_fit();
  request_done_ = request_head_sent_ = request_touched_ = body_sent_ = false;
  retried_stale_ = response_begun_ = response_head_done_ = interim_sent_ = false;
  closing_after_ = false;
  expect_due_ = peer_check_at_ = {};
  linger_due_ = {};
  phase_ = Phase::head;
  advance();
  if (phase_ == Phase::head && in_.empty()) {
    unused_due_ = server_.clock_.now() + server_.limits_.unused_timeout;
    arm_timer();
  }
}

void Exchange::abort(Outcome::End end) {
  // A body that ends with its connection must not end as if it were whole.
  if (response_head_done_ && response_rewrite_.body == http::ResponseBody::to_close) {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger{true, 0}, ignored);
  }
  const int status = response_.status;
  detach_upstream(false);
  conclude(end, status);
  close();
}

void Exchange::conclude(Outcome::End end, int status) {
  unwatch();
  timeouts_ = {};
  peer_check_at_ = expect_due_ = {};
  if (!begun_) return;
  begun_ = false;
  server_.gateway_.end(*this, {end, status});
  server_.ended();
}

void Exchange::close_gently() {
  if (phase_ == Phase::closed) return;
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  if (client_ended_ || (parser_.done() && in_.empty())) {
    close();
    return;
  }
  // Bytes that nobody reads make the kernel reset the connection, and the response with it.
  phase_ = Phase::closing;
  request_slice_ = 0;
  in_.consume(in_.size());
  linger_due_ = server_.clock_.now() + kLingerTime;
  arm_timer();
  want_client_read();
}

void Exchange::close() {
  if (phase_ == Phase::closed) return;
  unwatch();
  phase_ = Phase::closed;
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  release_if_done();
}

void Exchange::release_if_done() {
  if (phase_ != Phase::closed || operations_ > 0 || retired_) return;
  retired_ = true;
  server_.retire(*this);
}

Exchange::Due Exchange::next_due() const {
  Due due{TimePoint::max(), Timer::none};
  const auto consider = [&due](TimePoint at, Timer timer) {
    if (at != TimePoint{} && at < due.at) due = {at, timer};
  };
  if (phase_ == Phase::head) consider(head_due_, Timer::head);
  if (phase_ == Phase::head && in_.empty()) consider(unused_due_, Timer::unused);
  if (phase_ == Phase::closing || phase_ == Phase::answering) {
    consider(linger_due_, Timer::linger);
  }
  if (begun_) {
    if (timeouts_.max) consider(arrived_ + *timeouts_.max, Timer::max);
    if (timeouts_.response_start && !response_begun_ && !interim_sent_) {
      consider(arrived_ + *timeouts_.response_start, Timer::response_start);
    }
    if (timeouts_.idle) consider(last_write_ + *timeouts_.idle, Timer::idle);
    consider(peer_check_at_, Timer::peer);
    consider(expect_due_, Timer::expect);
  }
  return due;
}

// The timer is moved only when something is due earlier than it would fire; on firing it looks what
// is due by then. A keep-alive connection thus sets it once per timeout and not once per request.
void Exchange::arm_timer() {
  const Due due = next_due();
  if (due.timer == Timer::none || phase_ == Phase::closed) return;
  if (timer_set_ && timer_at_ <= due.at) return;
  timer_set_ = true;
  timer_at_ = due.at;
  ++operations_;
  timer_.expires_after(std::max(Duration{0}, due.at - server_.clock_.now()));
  timer_.async_wait([this](const error_code& ec) {
    --operations_;
    if (phase_ == Phase::closed) {
      release_if_done();
    } else if (!ec) {
      on_timer();
    }
  });
}

void Exchange::on_timer() {
  timer_set_ = false;
  const Due due = next_due();
  if (due.timer == Timer::none) return;
  if (server_.clock_.now() < due.at) {
    arm_timer();
    return;
  }
  on_timeout(due.timer);
}

void Exchange::on_timeout(Timer timer) {
  switch (timer) {
    case Timer::none:
      return;
    case Timer::linger:
    case Timer::unused:
      close();
      return;
    case Timer::peer:
      peer_check_at_ = {};
      check_peer();
      return;
    case Timer::expect:
      expect_due_ = {};
      if (!client_writing_ && !response_begun_ &&
          write_client("HTTP/1.1 100 Continue\r\n\r\n", {})) {
        interim_sent_ = true;
      }
      arm_timer();
      return;
    case Timer::head: {
      // A client that sent nothing yet just loses its connection.
      if (in_.empty()) {
        close();
        return;
      }
      http::OwnResponse late =
          http::response_for(Error::deadline_exceeded, "request timeout\n",
                             "timer=header; limit=" + limit_text(server_.limits_.head_timeout));
      late.status = 408;
      answer(late, Outcome::End::own);
      return;
    }
    case Timer::max:
    case Timer::response_start:
    case Timer::idle:
      break;
  }
  if (response_begun_ || client_writing_) {
    abort(Outcome::End::timed_out);
    return;
  }
  std::string facts = timer == Timer::max              ? "timer=max; limit="
                      : timer == Timer::response_start ? "timer=response-start; limit="
                                                       : "timer=idle; limit=";
  facts += limit_text(timer == Timer::max              ? *timeouts_.max
                      : timer == Timer::response_start ? *timeouts_.response_start
                                                       : *timeouts_.idle);
  facts.append("; at=").append(server_.gateway_.place());
  answer(http::response_for(Error::deadline_exceeded, server_.gateway_.timeout_text(), facts),
         Outcome::End::timed_out);
}

}  // namespace sluice::net
