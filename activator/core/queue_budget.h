#pragma once

#include "common/base/check.h"

#include <algorithm>
#include <cstdint>

namespace sluice::activator {

/// What may be held in all revisions together (activator.md 14.3).
struct QueueBudgetSpec {
  std::int64_t waiting_max = 50'000;                  ///< requests (SLUICE_QUEUE_TOTAL)
  std::int64_t bytes_max = std::int64_t{512} << 20U;  ///< their memory (SLUICE_QUEUE_BYTES)
};

/// `spec` with so many waiters at most that they leave an eighth of `connections` (at least 1) to
/// others: one that waits keeps its connection.
[[nodiscard]] inline QueueBudgetSpec within_connections(QueueBudgetSpec spec,
                                                        std::int64_t connections) {
  spec.waiting_max = std::min(spec.waiting_max, connections - connections / 8);
  return spec;
}

/// What one revision holds of a QueueBudget. The revision keeps it, the budget alone changes it.
class QueueShare {
 public:
  [[nodiscard]] std::int64_t waiting() const { return waiting_; }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  friend class QueueBudget;

  std::int64_t waiting_ = 0;
  std::int64_t bytes_ = 0;
};

/// The bounds over all queues of a program. Each revision's own depth bounds one of them; this
/// keeps many quiet revisions that wake together from exceeding memory, and one that is flooded
/// from using up what the others need for their first request.
///
/// The first three quarters of each bound go to the first comers. Of the last quarter a revision
/// gets more only while it holds no more than what is left then: the more revisions take their
/// fill, the less each gets, and n of them leave at least the (n + 1)th part of the quarter free.
class QueueBudget {
 public:
  explicit QueueBudget(const QueueBudgetSpec& spec) : spec_(spec) {
    CHECK(spec.waiting_max >= 1 && spec.bytes_max >= 1);
  }

  /// One more request waits. False when a bound would be passed: nothing is taken, and the request
  /// is refused with queue_full.
  [[nodiscard]] bool wait(QueueShare& share) {
    if (!has_room({spec_.waiting_max, waiting_}, share.waiting_, 1)) return false;
    ++waiting_;
    ++share.waiting_;
    return true;
  }

  /// A request that waited waits no longer. One more than waited is a broken invariant.
  void leave(QueueShare& share) {
    CHECK(share.waiting_ > 0 && waiting_ > 0);
    --waiting_;
    --share.waiting_;
  }

  /// A request holds `bytes` (at least 0) of memory more. False as for wait().
  [[nodiscard]] bool take(QueueShare& share, std::int64_t bytes) {
    CHECK(bytes >= 0);
    if (!has_room({spec_.bytes_max, bytes_}, share.bytes_, bytes)) return false;
    bytes_ += bytes;
    share.bytes_ += bytes;
    return true;
  }

  /// `bytes` of what was taken are free again. More than was taken is a broken invariant.
  void give_back(QueueShare& share, std::int64_t bytes) {
    CHECK(bytes >= 0 && bytes <= share.bytes_ && bytes <= bytes_);
    bytes_ -= bytes;
    share.bytes_ -= bytes;
  }

  [[nodiscard]] std::int64_t waiting() const { return waiting_; }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  struct Bound {
    std::int64_t most;
    std::int64_t used;
  };

  [[nodiscard]] static bool has_room(const Bound& bound, std::int64_t own, std::int64_t more) {
    const std::int64_t left = bound.most - bound.used;
    if (more > left) return false;
    return left - more >= bound.most / 4 || own + more <= left;
  }

  QueueBudgetSpec spec_;
  std::int64_t waiting_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice::activator
