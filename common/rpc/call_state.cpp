#include "common/rpc/call_state.h"

#include "common/base/check.h"

#include <utility>

namespace sluice::rpc {

CallState::CallState(boost::asio::io_context& io, Duration write_limit)
    : io_(io), write_limit_(write_limit) {}

void CallState::listen(Call::Events events) {
  events_ = std::make_shared<const Call::Events>(std::move(events));
}

void CallState::read() {
  if (wire_) wire_->read();
}

void CallState::write(std::string bytes) {
  CHECK(writable() && bytes.size() <= kMessageBytesMax);
  write_pending_ = true;
  if (!write_timer_) write_timer_.emplace(io_);
  write_timer_->expires_after(write_limit_);
  write_timer_->async_wait([this, alive = alive_.watch(), turn = ++writes_](auto error) {
    if (error || alive.over() || !write_pending_ || turn != writes_) return;
    fail({Code::resource_exhausted,
          "the peer has read nothing for " +
              std::to_string(std::chrono::ceil<std::chrono::seconds>(write_limit_).count()) +
              " s"});
  });
  wire_->write(std::move(bytes));
}

void CallState::close(const Ending& ending) {
  events_.reset();
  over(ending, false);
}

void CallState::read_done(std::optional<std::string> bytes) {
  if (!wire_) return;
  if (!bytes) return peer_gone({Code::cancelled, "the peer ended the call"});
  // A copy, since the user may drop the call, and with it the events, in the middle of one.
  if (const auto events = events_; events && events->on_message) {
    events->on_message(std::move(*bytes));
  }
  read();
}

void CallState::write_done(bool ok) {
  if (!wire_) return;
  if (!ok) return peer_gone({Code::cancelled, "the peer disconnected"});
  write_pending_ = false;
  write_timer_->cancel();
  if (const auto events = events_; events && events->on_writable) events->on_writable();
}

void CallState::over(const Ending& ending, bool peer_gone) {
  if (!wire_) return;
  finish(ending, peer_gone);
  if (const auto events = std::exchange(events_, nullptr); events && events->on_closed) {
    events->on_closed(ending);
  }
}

void CallState::finish(const Ending& ending, bool peer_gone) {
  CallWire& wire = *std::exchange(wire_, nullptr);
  const bool unread = std::exchange(write_pending_, false);
  write_timer_.reset();
  wire.finish(ending, peer_gone ? CallWire::End::peer_gone
                      : unread  ? CallWire::End::ours_unread
                                : CallWire::End::ours);
}

}  // namespace sluice::rpc
