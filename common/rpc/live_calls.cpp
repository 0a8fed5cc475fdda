#include "common/rpc/live_calls.h"

#include <boost/asio/post.hpp>

#include <utility>

namespace sluice::rpc {

bool LiveCalls::enter(const std::shared_ptr<CallState>& state, std::size_t max) {
  const std::lock_guard lock{mutex_};
  if (shut_ || calls_.size() >= max) return false;
  calls_.emplace(state.get(), state);
  return true;
}

void LiveCalls::leave(std::shared_ptr<CallState> state) {
  const CallState* const key = state.get();
  // Posted within the lock: whoever waits may let the io_context go as soon as the last has left.
  const std::lock_guard lock{mutex_};
  auto& io = state->io();
  const auto at = calls_.find(key);
  auto ours = at == calls_.end() ? nullptr : std::move(at->second);
  boost::asio::post(io, [state = std::move(state), ours = std::move(ours)] {});
  if (at != calls_.end()) calls_.erase(at);
  if (calls_.empty()) empty_.notify_all();
}

std::map<const CallState*, std::shared_ptr<CallState>> LiveCalls::shut() {
  const std::lock_guard lock{mutex_};
  shut_ = true;
  return calls_;
}

void LiveCalls::wait() {
  std::unique_lock lock{mutex_};
  empty_.wait(lock, [this] { return calls_.empty(); });
}

}  // namespace sluice::rpc
