// After a 101: bytes both ways until both ends have finished, one of them failed, or a timer fired.
// Each direction reads only when its last bytes are written, so both are bounded and slow readers
// slow their senders. The end of one side's sending is passed on to the other, which may continue.

#include "common/net/h1/h1_exchange.h"
#include "common/net/server/proxy_server.h"

namespace sluice::net {

namespace {

constexpr std::size_t kLargeBuffer = 64 * 1024;
constexpr Duration kPeerCheckFirst = std::chrono::milliseconds{1};
constexpr int kSwitched = 101;
constexpr Duration kCloseTime = std::chrono::seconds{3};  // for both ends to take our Close

}  // namespace

void H1Exchange::begin_tunnel(bool websocket) {
  phase_ = Phase::tunnel;
  tunnel_ = std::make_unique<Tunnel>();
  tunnel_->websocket = websocket;
  response_head_done_ = response_begun_ = closing_after_ = true;
  expect_due_ = body_due_ = {};
  out_.clear();
  http::ResponseRewrite rewrite;
  rewrite.extra = extra_;
  http::write_response_head(out_, response_, rewrite);
  if (timers_.watch_idle()) timers_.moved(server_.clock_.now());
  if (write_client(out_, {})) out_.clear();
  if (phase_ != Phase::tunnel) return;
  if (server_.closing_tunnels_) tunnel_->closing = websocket;
  pump_to_upstream();
  if (phase_ == Phase::tunnel) pump_to_client();
  arm_timer();  // what is due may be another timer than before
}

// What goes to the client next, out of what is there. A tunnel that is being closed ends its frame,
// gets its Close, and then says nothing more.
std::string_view H1Exchange::next_to_client() {
  Upstream& upstream = *upstream_;
  const std::string_view bytes = upstream.in.data();
  if (!tunnel_->websocket) return bytes;
  if (tunnel_->close_sent) {
    upstream.in.consume(bytes.size());
    return {};
  }
  if (!tunnel_->closing) {
    tunnel_->frames.feed(bytes);
    return bytes;
  }
  return bytes.substr(0, tunnel_->frames.advance(bytes));
}

// Returns whether the pump may continue: the Close is out, or it is not its turn.
bool H1Exchange::put_close_frame() {
  if (!tunnel_->closing || tunnel_->close_sent || !tunnel_->frames.between()) return true;
  if (tunnel_->frames.closed()) {
    tunnel_->closing = false;  // the service has said it already
    return true;
  }
  tunnel_->close_sent = true;
  consume_after_write_ = 0;
  linger_due_ = server_.clock_.now() + kCloseTime;
  arm_timer();
  return write_client(http::kGoingAwayFrame, {});
}

void H1Exchange::pump_to_client() {
  while (phase_ == Phase::tunnel && !client_writing_ && !tunnel_->client_told) {
    if (!put_close_frame()) return;
    const std::string_view bytes = next_to_client();
    if (bytes.empty()) {
      if (upstream_->ended()) {
        end_of_upstream();
      } else {
        upstream_->want_read();
      }
      return;
    }
    consume_after_write_ = bytes.size();
    if (!write_client(bytes, {})) return;
    sent_to_client();
  }
}

void H1Exchange::sent_to_client() {
  ByteBuffer& in = upstream_->in;
  const bool was_full = in.room() == 0 && consume_after_write_ > 0;
  in.consume(consume_after_write_);
  traffic_.response_bytes += consume_after_write_;
  consume_after_write_ = 0;
  if (was_full && in.capacity() < kLargeBuffer) in.reserve(kLargeBuffer);
}

void H1Exchange::end_of_upstream() {
  if (upstream_->failed()) {
    end_tunnel({Outcome::End::aborted, kSwitched, Error::upstream_reset, Timer::none});
    return;
  }
  tunnel_->client_told = true;
  if (tunnel_->upstream_told) {
    end_tunnel({Outcome::End::answered, kSwitched, {}, Timer::none});
  } else {
    stream_.shutdown_send();
  }
}

void H1Exchange::pump_to_upstream() {
  while (phase_ == Phase::tunnel && !upstream_writing_ && !tunnel_->upstream_told) {
    if (request_slice_ == 0) request_slice_ = in_.size();
    if (request_slice_ == 0 && request_head_sent_) {
      if (client_ended_) {
        end_of_client();
      } else {
        want_client_read();
      }
      return;
    }
    if (timers_.watch_idle()) timers_.moved(server_.clock_.now());
    if (!write_upstream()) break;
    request_head_sent_ = true;
    sent_to_upstream();
  }
  if (phase_ != Phase::tunnel || upstream_writing_ || tunnel_->upstream_told) return;
  // The upstream takes nothing more; what it has said may still be on its way.
  tunnel_->upstream_told = true;
  if (tunnel_->client_told) {
    end_tunnel({Outcome::End::answered, kSwitched, {}, Timer::none});
  }
}

void H1Exchange::sent_to_upstream() {
  const bool was_full = in_.room() == 0 && request_slice_ > 0;
  in_.consume(request_slice_);
  traffic_.request_bytes += request_slice_;
  request_slice_ = 0;
  if (was_full && in_.capacity() < kLargeBuffer) in_.reserve(kLargeBuffer);
}

void H1Exchange::end_of_client() {
  tunnel_->upstream_told = true;
  if (tunnel_->client_told) {
    end_tunnel({Outcome::End::answered, kSwitched, {}, Timer::none});
    return;
  }
  upstream_->stream.shutdown_send();
  peer_check_step_ = kPeerCheckFirst;
  check_peer();
}

void H1Exchange::end_tunnel(const Outcome& outcome) {
  detach_upstream(false);
  conclude(outcome);
  close();
}

void H1Exchange::close_tunnel() {
  if (phase_ != Phase::tunnel || !tunnel_->websocket || tunnel_->close_sent) return;
  tunnel_->closing = true;
  pump_to_client();
}

void H1Exchange::cut_tunnel(Timer timer) {
  const Tunnel& tunnel = *tunnel_;
  const bool told = tunnel.websocket && !tunnel.client_told && !tunnel.close_sent &&
                    !client_writing_ && tunnel.frames.between() && !tunnel.frames.closed();
  if (told) {
    bool would_block = false;
    // As much as the kernel takes at once: the tunnel is over either way.
    static_cast<void>(stream_.write_now(http::kGoingAwayFrame, {}, would_block));
  }
  detach_upstream(false);
  conclude({Outcome::End::timed_out, kSwitched, Error::deadline_exceeded, timer});
  if (told) {
    close_gently();
  } else {
    close();
  }
}

}  // namespace sluice::net
