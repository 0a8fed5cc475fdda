#pragma once

#include "common/base/check.h"

#include <cstdint>

namespace sluice::activator {

/// What may wait in all revisions together (activator.md 14.3).
struct QueueBudgetSpec {
  std::int64_t waiting_max = 50'000;                  ///< requests (SLUICE_QUEUE_TOTAL)
  std::int64_t bytes_max = std::int64_t{512} << 20U;  ///< connection memory (SLUICE_QUEUE_BYTES)
};

/// The bounds over all queues of a program. Each revision's own depth bounds one of them; this
/// keeps many quiet revisions that wake together from exceeding memory.
class QueueBudget {
 public:
  explicit QueueBudget(const QueueBudgetSpec& spec) : spec_(spec) {
    CHECK(spec.waiting_max >= 1 && spec.bytes_max >= 1);
  }

  /// One more waiter that holds `bytes` (at least 0) of memory. False when either bound would be
  /// passed: nothing is taken, and the request is refused with queue_full.
  [[nodiscard]] bool take(std::int64_t bytes) {
    CHECK(bytes >= 0);
    if (waiting_ >= spec_.waiting_max || bytes > spec_.bytes_max - bytes_) {
      return false;
    }
    ++waiting_;
    bytes_ += bytes;
    return true;
  }

  /// A waiter waits no longer; `bytes` as it took. Giving back more than was taken is a broken
  /// invariant.
  void give_back(std::int64_t bytes) {
    CHECK(bytes >= 0 && bytes <= bytes_ && waiting_ > 0);
    --waiting_;
    bytes_ -= bytes;
  }

  [[nodiscard]] std::int64_t waiting() const { return waiting_; }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  QueueBudgetSpec spec_;
  std::int64_t waiting_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice::activator
