#include "common/rpc/live_calls.h"

#include <boost/asio/post.hpp>

#include <utility>

namespace sluice::rpc {

bool LiveCalls::enter(const std::shared_ptr<CallState>& state, std::size_t max) {
  const std::lock_guard lock{mutex_};
  if (shut_ || calls_.size() >= max) return false;
  calls_.emplace(state.get(), state);
  count_.enter();
  return true;
}

void LiveCalls::leave(std::shared_ptr<CallState> state) {
  auto& io = state->io();
  std::shared_ptr<CallState> ours;
  {
    const std::lock_guard lock{mutex_};
    const auto at = calls_.find(state.get());
    ours = std::move(at->second);
    calls_.erase(at);
  }
  count_.leave(
      [&] { boost::asio::post(io, [state = std::move(state), ours = std::move(ours)] {}); });
}

std::map<const CallState*, std::shared_ptr<CallState>> LiveCalls::shut() {
  const std::lock_guard lock{mutex_};
  shut_ = true;
  return calls_;
}

}  // namespace sluice::rpc
