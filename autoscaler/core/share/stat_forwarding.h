#pragma once

#include "autoscaler/core/decision/collector.h"
#include "common/base/ids.h"
#include "common/messages/stat.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// After this long a stat that went nowhere is tried again.
inline constexpr Duration kForwardRetry = std::chrono::milliseconds{500};

/// So often, which makes 15 s; by then a new holder has long been found, or the stat is too old to
/// change a decision.
inline constexpr int kForwardRetriesMax = 30;

/// Stats that wait for their next try, at most. One more pushes out the oldest: it is nearest to
/// its end and shows the least.
inline constexpr std::size_t kForwardBacklogMax = 1000;

/// Longest namespace or name that belongs to a revision.
inline constexpr std::size_t kRevisionNameMax = 253;

/// A stat of a revision that another replica may own.
struct StatToForward {
  RevisionId revision;
  Stat stat;
  TimePoint at{};   ///< its stamp, the same wherever it goes
  int retries = 0;  ///< how often it was tried again
};

/// Unstamped, it gets the present: its turn may come seconds later.
[[nodiscard]] StatToForward to_forward(const proto::StatMessage& message, TimePoint now);

/// As it is sent on, or recorded here: the way back of to_forward().
[[nodiscard]] proto::StatMessage message_of(const StatToForward& stat);

/// Who holds a bucket: we, another at these addresses, or with neither, no known replica.
struct BucketHolder {
  bool ours = false;
  std::vector<std::string> addresses;  ///< in the order they are tried

  friend bool operator==(const BucketHolder&, const BucketHolder&) = default;
};

/// What to do with a stat now.
enum class StatRoute {
  record,   ///< its revision is ours
  forward,  ///< to its bucket's holder; when that fails, postpone
  wait,     ///< no holder is known: postpone
};

/// Which replica takes a stat, and which stats wait because none does (autoscaler.md 10.2).
class StatForwarding {
 public:
  /// `buckets` are the names of all of them, not empty. None is held yet.
  explicit StatForwarding(std::vector<std::string> buckets);

  /// True when the holder is another than before: connections to the last one are of no use any
  /// more. A bucket that is none of ours is ignored.
  [[nodiscard]] bool set_holder(std::string_view bucket, BucketHolder holder);

  struct Route {
    StatRoute what = StatRoute::wait;
    std::string bucket;
    std::span<const std::string> addresses;  ///< until the next set_holder()
  };

  [[nodiscard]] Route route(const RevisionId& revision) const;

  /// Keeps a stat that went nowhere for its next try, or drops and counts it after the last one.
  void postpone(StatToForward stat, TimePoint now);

  /// Takes out the stats whose next try is due, oldest first; the caller routes each again.
  [[nodiscard]] std::vector<StatToForward> due(TimePoint now);

  /// When due() has something again; absent when nothing waits.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  [[nodiscard]] std::size_t waiting() const { return backlog_.size(); }

  /// Stats given up: after the last retry, pushed out, or of a name no revision can have.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Postponed {
    StatToForward stat;
    TimePoint since;
  };

  std::vector<std::string> buckets_;
  std::map<std::string, BucketHolder, std::less<>> holders_;
  std::deque<Postponed> backlog_;  // in the order they were postponed, which is that of their turn
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::autoscaler
