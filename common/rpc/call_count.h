#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace sluice::rpc {

/// How many calls gRPC still has a hand on, counted across threads: an owner that ends waits until
/// there are none, so that nothing is posted to an io_context that is gone.
class CallCount {
 public:
  void enter() {
    const std::lock_guard lock{mutex_};
    ++count_;
  }

  /// gRPC is done with a call. What `last` posts is posted before wait() can return.
  template <class Last>
  void leave(const Last& last) {
    const std::lock_guard lock{mutex_};
    last();
    if (--count_ == 0) none_.notify_all();
  }

  /// Returns when all have left.
  void wait() {
    std::unique_lock lock{mutex_};
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

}  // namespace sluice::rpc
