#pragma once

#include "common/rpc/call_count.h"
#include "common/rpc/call_state.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace sluice::rpc {

/// The calls that gRPC still has a hand on. Shared by its owner, which waits for them before it
/// goes, and by every such call.
class LiveCalls {
 public:
  /// False: there are `max` already, or the owner is leaving; the call may not come in.
  [[nodiscard]] bool enter(const std::shared_ptr<CallState>& state, std::size_t max);

  /// gRPC is done with a call that came in. The state is dropped on its io thread.
  void leave(std::shared_ptr<CallState> state);

  /// Admits no new call, and returns the present ones. On the io thread.
  [[nodiscard]] std::map<const CallState*, std::shared_ptr<CallState>> shut();

  /// Returns when all have left.
  void wait() { count_.wait(); }

 private:
  std::mutex mutex_;
  CallCount count_;
  std::map<const CallState*, std::shared_ptr<CallState>> calls_;
  bool shut_ = false;
};

}  // namespace sluice::rpc
