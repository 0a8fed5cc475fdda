#pragma once

#include "autoscaler/core/activators/stat_intake.h"
#include "autoscaler/core/decision/revision_scaler.h"
#include "autoscaler/core/decision/tick_wheel.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sluice::autoscaler {

/// Names a revision of a MultiScaler from add() to remove(); whatever is registered in its place
/// later has another.
struct ScalerHandle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;

  friend bool operator==(const ScalerHandle&, const ScalerHandle&) = default;
};

/// All revisions that an autoscaler replica owns, on one timer (autoscaler.md 16.8): which
/// revisions are due, and which one a pushed stat belongs to. The caller gathers ready pods and
/// calls evaluate() of the returned scaler; nothing here calls back. Revisions come and go at any
/// time.
class MultiScaler {
 public:
  /// Most revisions of one replica.
  static constexpr std::size_t kRevisionsMax = 200'000;

  /// Registers a revision, whose name replaces the one in `spec`; `ready` are its ready pods.
  /// Absent: it is registered already, or kRevisionsMax are.
  [[nodiscard]] std::optional<ScalerHandle> add(const RevisionId& revision, RevisionScalerSpec spec,
                                                std::int32_t ready, TimePoint now);

  /// Drops a revision; one that comes back under the same name starts fresh. Returns its scaler,
  /// for readers of its last decision; null when the handle was stale.
  std::unique_ptr<RevisionScaler> remove(ScalerHandle handle);

  [[nodiscard]] std::optional<ScalerHandle> find(const RevisionId& revision) const;

  /// Null when the handle is stale. Valid until remove().
  [[nodiscard]] RevisionScaler* scaler(ScalerHandle handle) const;

  [[nodiscard]] std::size_t size() const { return by_revision_.size(); }

  /// Records a pushed stat, or drops it and counts why. `newest`: age of its newest request, if the
  /// activator reports it. Returns the revision when it must be evaluated at once: there are
  /// requests, and no pod serves.
  [[nodiscard]] std::optional<ScalerHandle> push(const RevisionId& revision, const Stat& stat,
                                                 std::optional<TimePoint> stamp, StatDoor door,
                                                 TimePoint now,
                                                 std::optional<Duration> newest = {});

  /// Counts a scraped stat that the caller dropped because of its flaw_of().
  void count_flawed() { ++counts_.flawed; }

  /// One revision that is due.
  struct Due {
    ScalerHandle handle;
    bool evaluate = false;  ///< true: scrape and evaluate; false: only scrape
  };

  /// Replaces `due` by what came due since the last call: each revision at most once, every second
  /// to be scraped and every other to be evaluated.
  void take_due(TimePoint now, std::vector<Due>& due);

  /// When take_due() will have something to give; absent without revisions.
  [[nodiscard]] std::optional<TimePoint> next_due() const { return wheel_.next_due(); }

  [[nodiscard]] const IntakeCounts& counts() const { return counts_; }

 private:
  struct Entry {
    std::unique_ptr<RevisionScaler> scaler;  // null: free
    const RevisionId* revision = nullptr;    // the key of by_revision_
    std::uint32_t generation = 1;            // so that no handle is valid by default
  };

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<RevisionId, std::uint32_t> by_revision_;
  TickWheel wheel_;
  std::vector<TickWheel::Visit> visits_;  // kept for its memory
  IntakeCounts counts_;
};

}  // namespace sluice::autoscaler
