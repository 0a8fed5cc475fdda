#include "common/net/h1/h1_exchange.h"

#include "common/net/peer_socket.h"
#include "common/net/server/proxy_server.h"

#include <boost/asio/buffer.hpp>

#include <algorithm>
#include <utility>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstBuffer = 4 * 1024;
constexpr std::size_t kKeptBuffer = 16 * 1024;
constexpr std::size_t kMuchMemory = 64 * 1024;
// A loopback peer that closes is an orphan a moment after its FIN is seen, so the first look may
// come too early; later looks find a peer that half-closed and left afterwards.
constexpr Duration kPeerCheckFirst = std::chrono::milliseconds{1};
constexpr Duration kPeerCheckMost = std::chrono::seconds{1};

}  // namespace

H1Exchange::H1Exchange(ProxyServer& server, Stream stream, TimePoint accepted)
    : server_{server},
      stream_{std::move(stream)},
      timer_{server.io_},
      in_{&server.blocks_},
      parser_{server.limits_.head_bytes_max, server.limits_.fields_max},
      head_due_{accepted} {}

H1Exchange::~H1Exchange() = default;

void H1Exchange::start() {
  error_code ec;
  const Endpoint peer = stream_.remote_endpoint(ec);
  if (ec) {
    close();
    return;
  }
  peer_ip_ = ip_of(peer);
  peer_local_ = is_local(peer);
  secure_ = stream_.encrypted();
  state_ = server_.gateway_.make_state();
  if (head_due_ == TimePoint{}) head_due_ = server_.clock_.now();
  head_due_ += server_.limits_.head_timeout;
  arm_timer();
  want_client_read();
}

std::size_t H1Exchange::memory() const {
  return sizeof *this + in_.capacity() + out_.capacity() + decoded_.capacity() + head_.memory() +
         std::max(request_out_.capacity(), head_.memory());
}

void H1Exchange::want_client_read() {
  if (reading_ || client_ended_ || phase_ == Phase::closed || request_slice_ > 0) return;
  // Pipelined requests come first: the end that may stand behind them must not hide them.
  if (parser_.done() && !in_.empty()) return;
  if (in_.capacity() == 0) in_.reserve(kFirstBuffer);
  in_.compact();
  if (in_.room() == 0) {
    if (phase_ != Phase::head || !grow_head()) return;
  }
  reading_ = true;
  ++operations_;
  in_.pin();
  stream_.async_read_some(
      asio::buffer(in_.tail(), in_.room()),
      [this](const error_code& ec, std::size_t bytes) { on_client_read(ec, bytes); });
}

void H1Exchange::on_client_read(const error_code& ec, std::size_t bytes) {
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
      expect_due_ = {};
      note_body_progress();
      gather_upload();
      pump_request();
      break;
    case Phase::tunnel:
      pump_to_upstream();
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
    case Phase::switching:
      continue_switch();
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

void H1Exchange::on_client_end() {
  if (phase_ == Phase::head || phase_ == Phase::closing || phase_ == Phase::switching) {
    close();
  } else if (phase_ == Phase::tunnel) {
    pump_to_upstream();
  } else if (!parser_.done()) {
    leave();
  } else {
    peer_check_step_ = kPeerCheckFirst;
    check_peer();
  }
}

void H1Exchange::on_hangup() {
  watched_ = false;
  peer_check_step_ = kPeerCheckFirst;
  if (phase_ == Phase::held) check_peer();
}

// The client has finished sending. That alone is its right; only a client that is gone cancels. A
// remote client cannot be asked: while its request still waits here it is taken to have left, since
// waiting clients that give up are common and half-closing ones are not; once the request is with
// the user process it gets its answer.
void H1Exchange::check_peer() {
  const Peer peer = peer_after_eof(stream_.socket());
  if (peer == Peer::gone || (peer == Peer::unknown && phase_ == Phase::held)) {
    leave();
    return;
  }
  if (peer == Peer::unknown) return;
  peer_check_at_ = server_.clock_.now() + peer_check_step_;
  peer_check_step_ = std::min(peer_check_step_ * 4, kPeerCheckMost);
  arm_timer();
}

void H1Exchange::leave() {
  detach_upstream(false);
  conclude({Outcome::End::client_gone, tunnel_ ? 101 : 0, Error::client_gone, Timer::none});
  close();
}

void H1Exchange::abandon() {
  leave();
}

// What the kernel holds may be a request, and so may what was read and is not delivered yet: no
// more is read, and the outstanding read ends the connection unless it brings one.
bool H1Exchange::close_if_idle() {
  error_code ignored;
  if (phase_ != Phase::head || !in_.empty() || stream_.socket().available(ignored) > 0)
    return false;
  stream_.socket().shutdown(Socket::shutdown_receive, ignored);
  return true;
}

void H1Exchange::advance() {
  if (advancing_) return;
  advancing_ = true;
  while (phase_ == Phase::head && read_head()) begin();
  advancing_ = false;
  if (phase_ == Phase::head) want_client_read();
}

bool H1Exchange::read_head() {
  if (in_.empty()) {
    if (client_ended_) close();
    return false;
  }
  if (fresh_ && try_h2()) return false;
  const http::Fed fed = parser_.feed_head(in_.data(), head_);
  switch (fed.state) {
    case http::Fed::State::done:
      in_.consume(fed.used);
      head_due_ = {};
      server_.heads_.close(*this);
      in_.shrink(kKeptBuffer);
      return true;
    case http::Fed::State::need_more:
      in_.consume(fed.used);  // empty lines; the head itself is given again with more
      if (!in_.empty()) server_.heads_.open(*this, server_.clock_.now());
      if (head_due_ == TimePoint{}) {
        head_due_ = server_.clock_.now() + server_.limits_.head_timeout;
        arm_timer();
      }
      return false;
    case http::Fed::State::bad:
      answer(http::response_for(Error::bad_request, {}, fed.why));
      return false;
    case http::Fed::State::too_large:
      answer(http::response_for(Error::too_large, {}, fed.why));
      return false;
  }
  return false;
}

// Of a head that is refused before it was read: what Gateway::explain may go by.
void H1Exchange::glean_head() {
  if (!begun_ && phase_ == Phase::head) http::glean_request_line(in_.data(), head_);
}

// Room for more of a head, as far as the limit for one goes and the server has memory for it.
bool H1Exchange::grow_head() {
  const std::size_t most = server_.limits_.head_bytes_max + kFirstBuffer;
  const std::size_t wanted =
      std::max(in_.capacity() + kFirstBuffer, std::min(2 * in_.capacity(), most));
  server_.heads_.open(*this, server_.clock_.now());
  if (!server_.heads_.grow(*this, wanted - kFirstBuffer)) {
    answer(open_heads_full());
    return false;
  }
  in_.reserve(wanted);
  return true;
}

// It has no time to linger: its buffers are what others wait for.
bool H1Exchange::give_way() {
  if (phase_ != Phase::head && phase_ != Phase::switching) return false;
  server_.heads_.close(*this);
  glean_head();
  http::OwnResponse refusal = open_heads_full();
  server_.gateway_.explain(*this, refusal);
  server_.gateway_.refused(*this, {Outcome::End::own, refusal.status, refusal.error, Timer::none});
  out_.clear();
  http::write_own_response(out_, refusal, false, false);
  bool would_block = false;
  if (!client_writing_) static_cast<void>(stream_.write_now(out_, {}, would_block));
  close();
  return true;
}

void H1Exchange::begin() {
  if (wants_h2c()) {
    begin_switch();
    return;
  }
  arrived_ = server_.clock_.now();
  timers_.begin(arrived_);
  traffic_ = {};
  waited_ = false;
  begun_ = true;
  phase_ = Phase::held;
  server_.begun();
  server_.gateway_.begin(*this);
}

bool H1Exchange::expects_continue() const {
  return head_.version_minor > 0 &&
         http::list_contains(head_.fields.get(http::Known::expect), "100-continue");
}

// Whether the client may still be waiting for a 100 before it sends any of its body.
bool H1Exchange::awaits_continue() const {
  return !parser_.done() && !interim_sent_ && in_.empty() && parser_.content_bytes() == 0 &&
         expects_continue();
}

void H1Exchange::set_timeouts(const Timeouts& timeouts) {
  timers_.set(timeouts);
  arm_timer();
}

void H1Exchange::hold() {
  CHECK(begun_);
  waited_ = true;
  detach_upstream(false);
  phase_ = Phase::held;
  // A read needs a buffer; among many connections the kernel's word that the client leaves will do.
  const bool lean = in_.empty() && server_.connections() > server_.limits_.roomy_connections;
  if (lean) {
    in_.release();
  } else if (parser_.done()) {
    want_client_read();
  }
  watch();
}

void H1Exchange::watch() {
  if (reading_ || watched_) return;
  watched_ = true;
  server_.hangups_.add(stream_.native_handle(), this);
}

void H1Exchange::unwatch() {
  if (!watched_) return;
  watched_ = false;
  server_.hangups_.remove(stream_.native_handle());
}

std::optional<std::uint32_t> H1Exchange::peer_user() {
  return net::peer_user(stream_.native_handle());
}

void H1Exchange::respond(const http::OwnResponse& response) {
  CHECK(begun_ && !response_begun_);
  answer(response);
}

void H1Exchange::answer(const http::OwnResponse& response, Timer fired) {
  if (!response.error) {
    tell(response, fired);
    return;
  }
  glean_head();
  http::OwnResponse explained{response};
  server_.gateway_.explain(*this, explained);
  tell(explained, fired);
}

void H1Exchange::tell(const http::OwnResponse& response, Timer fired) {
  detach_upstream(false);
  drop_slice();
  server_.heads_.close(*this);
  if (begun_ && !parser_.done() && !in_.empty()) {
    in_.consume(parser_.feed_body(in_.data(), nullptr).used);
  }
  const bool keep = begun_ && parser_.done() && head_.keep_alive && !server_.ends_connections() &&
                    !client_ended_ && !response.close && head_.version_minor > 0;
  const bool problem =
      begun_ && head_.fields.get(http::Known::accept).find("application/problem+json") !=
                    std::string_view::npos;
  const bool to_head = begun_ && head_.method == "HEAD";
  closing_after_ = !keep;
  traffic_.response_bytes = to_head ? 0 : response.body.size();
  const Outcome outcome{fired == Timer::none ? Outcome::End::own : Outcome::End::timed_out,
                        response.status, response.error, fired};
  if (!begun_) server_.gateway_.refused(*this, outcome);
  conclude(outcome);
  out_.clear();
  http::write_own_response(out_, problem ? http::as_problem_json(response) : response, to_head,
                           keep);
  phase_ = Phase::answering;
  if (write_client(out_, {})) client_written();
}

// What the parser has seen of the body and no upstream took: it must never be read again.
void H1Exchange::drop_slice() {
  in_.consume(request_slice_);
  request_slice_ = 0;
}

void H1Exchange::finish() {
  // A failed write leaves its head or slice unsent.
  const bool sent = request_done_ && request_head_sent_ && request_slice_ == 0;
  const bool reusable = sent && response_.keep_alive && !upstream_->ended();
  const int status = response_.status;
  detach_upstream(reusable);
  drop_slice();
  conclude({Outcome::End::answered, status, {}, Timer::none});
  if (phase_ == Phase::closed) return;
  // A client that was not told to leave keeps its connection, even when a drain began meanwhile.
  if (closing_after_ || client_ended_ || !parser_.done()) {
    close_gently();
  } else {
    next_request();
  }
}

// What one long message took, so that the connection of a client that sends nothing for now holds
// little.
void H1Exchange::give_memory_back() {
  std::size_t freed = 0;
  const auto drop = [&freed](std::string& text) {
    if (text.capacity() <= kKeptBuffer) return;
    freed += text.capacity();
    std::string{}.swap(text);
  };
  for (std::string* const text : {&out_, &extra_, &request_out_, &decoded_}) drop(*text);
  if (head_.memory() > kKeptBuffer) {
    freed += head_.memory();
    static_cast<void>(std::exchange(head_, {}));  // an empty text assigned would keep the memory
  }
  if (response_.fields.memory() > kKeptBuffer) {
    freed += response_.fields.memory();
    static_cast<void>(std::exchange(response_, {}));
  }
  const std::size_t had = in_.capacity();
  in_.shrink(kKeptBuffer);
  freed += had - in_.capacity();
  if (freed > 0) server_.pages_.freed(freed);
}

void H1Exchange::next_request() {
  parser_.reset();
  out_.clear();
  extra_.clear();
  give_memory_back();
  request_done_ = request_head_sent_ = request_touched_ = body_sent_ = false;
  retried_stale_ = response_begun_ = response_head_done_ = interim_sent_ = false;
  closing_after_ = false;
  response_done_ = continued_ = false;
  expect_due_ = peer_check_at_ = body_due_ = write_due_ = linger_due_ = unused_due_ = {};
  unused_unstamped_ = false;
  phase_ = Phase::head;
  advance();
  if (phase_ != Phase::head || !in_.empty()) return;
  // As long as the timer is set anyway, the end of the unused time is reckoned when it fires: the
  // clock is then read once per timeout and not once per request.
  unused_unstamped_ = timer_set_;
  if (timer_set_) return;
  unused_due_ = server_.clock_.now() + server_.limits_.unused_timeout;
  arm_timer();
}

void H1Exchange::abort(const Outcome& outcome) {
  // A body that ends with its connection must not end as if it were whole.
  if (response_head_done_ && response_rewrite_.body == http::ResponseBody::to_close) {
    error_code ignored;
    stream_.socket().set_option(asio::socket_base::linger{true, 0}, ignored);
  }
  Outcome told = outcome;
  told.status = response_.status;
  detach_upstream(false);
  conclude(told);
  close();
}

void H1Exchange::conclude(const Outcome& outcome) {
  unwatch();
  timers_.set({});
  peer_check_at_ = expect_due_ = {};
  if (!begun_) return;
  begun_ = false;
  traffic_.request_bytes += parser_.content_bytes();
  server_.gateway_.end(*this, outcome);
  server_.ended();
}

void H1Exchange::close_gently() {
  if (phase_ == Phase::closed) return;
  stream_.shutdown_send();
  if (client_ended_ || (!tunnel_ && parser_.done() && in_.empty())) {
    close();
    return;
  }
  // Unread bytes make the kernel reset the connection, and the response with it.
  phase_ = Phase::closing;
  request_slice_ = 0;
  in_.consume(in_.size());
  out_.clear();
  give_memory_back();
  linger_due_ = server_.clock_.now() + kLingerTime;
  arm_timer();
  want_client_read();
}

void H1Exchange::close() {
  if (phase_ == Phase::closed) return;
  unwatch();
  server_.heads_.close(*this);
  phase_ = Phase::closed;
  const std::size_t freed = memory();
  if (freed > kMuchMemory) server_.pages_.freed(freed);
  stream_.close();
  timer_.cancel();
  release_if_done();
}

void H1Exchange::release_if_done() {
  if (phase_ != Phase::closed || operations_ > 0 || retired_) return;
  retired_ = true;
  server_.retire(*this);
}

}  // namespace sluice::net
