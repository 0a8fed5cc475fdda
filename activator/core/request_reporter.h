#pragma once

#include "common/base/ids.h"
#include "common/load/request_stats.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::activator {

/// The report of one activator about one revision for one interval.
struct RevisionStat {
  RevisionId revision;
  double average_concurrent_requests = 0;
  double request_count = 0;  ///< requests begun in the interval, not a rate; never below 0
  /// Age of the newest request, whenever it began.
  std::optional<Duration> newest{};

  friend bool operator==(const RevisionStat&, const RevisionStat&) = default;
};

/// The load of every revision as reported to the autoscaler (activator.md 8.1).
///
/// The first request of an idle revision is reported at once (the poke), without waiting for the
/// interval to end; the first report after it leaves that request out, since it was reported
/// already. A revision is idle again after a report in which nothing was in flight, and is treated
/// as if it were after expect().
class RequestReporter {
 public:
  /// A revision, found once and named by this from then on: no look-up per request.
  struct Handle {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;

    friend bool operator==(const Handle&, const Handle&) = default;
  };

  /// Begins to account for `revision`. The caller opens each revision once; the number of open
  /// handles is bounded by the caller's limit on revisions.
  [[nodiscard]] Handle open(RevisionId revision);

  /// Ends it. Requests in flight are dropped from the count: an out() that follows is ignored.
  void close(Handle handle);

  /// A request begins. True when the poke is due: poke(handle) is to be sent at once. Must be open.
  [[nodiscard]] bool in(Handle handle, TimePoint now);

  /// The next in() is due as a poke, whatever is in flight: none of these requests ends a sleep.
  void expect(Handle handle);

  /// A request that was counted by in() ends.
  void out(Handle handle, TimePoint now);

  /// The stat that wakes the autoscaler: one request, one in flight, begun now.
  [[nodiscard]] RevisionStat poke(Handle handle) const;

  /// Closes the interval, which is the same for all, and appends one stat for each revision that is
  /// not idle: all of them go in one batch. Costs nothing for those that are.
  void report(TimePoint now, std::vector<RevisionStat>& stats);

  /// Requests in flight of one revision; 0 for a closed one.
  [[nodiscard]] std::int64_t in_flight(Handle handle) const;

 private:
  struct Slot {
    RevisionId revision;
    std::optional<load::RequestStats> stats;  // nothing while idle
    std::int64_t in_flight = 0;
    double told = 0;  // pokes since the last report
    TimePoint newest{};
    std::uint32_t generation = 0;
    bool open = false;
    bool awake = false;     // is in awake_
    bool expected = false;  // see expect()
  };

  [[nodiscard]] Slot* find(Handle handle);
  [[nodiscard]] const Slot* find(Handle handle) const;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> awake_;  // all that have stats, and some that were closed since
};

}  // namespace sluice::activator
