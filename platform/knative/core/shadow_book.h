#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <optional>

namespace sluice::autoscaler {

/// Compares our decision for each revision with that of its autoscaler. The two evaluate at
/// different moments, so a difference is reported only when it has lasted.
class ShadowBook {
 public:
  /// Ticks are two seconds apart and a change passes through a status: what is gone after this was
  /// none.
  static constexpr Duration kLasting = std::chrono::seconds{10};

  /// One comparison of a revision in so much time; what comes between them is the same decision.
  static constexpr Duration kPace = std::chrono::seconds{1};

  struct Pair {
    std::int32_t ours = -1;
    std::int32_t theirs = -1;
    std::optional<TimePoint> differ_since;

    friend bool operator==(const Pair&, const Pair&) = default;
  };

  struct Counts {
    std::uint64_t agreements = 0;   ///< comparisons
    std::uint64_t differences = 0;  ///< likewise
  };

  /// Returns the pair when its difference has just become a lasting one. A number of theirs that is
  /// absent is no answer, and is not compared.
  [[nodiscard]] std::optional<Pair> compare(const RevisionId& id, std::int32_t ours,
                                            std::optional<std::int32_t> theirs, TimePoint now);

  void forget(const RevisionId& id) { entries_.erase(id); }

  /// As compared last; null: never.
  [[nodiscard]] const Pair* find(const RevisionId& id) const;

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Entry {
    Pair pair;
    TimePoint counted{};
    bool told = false;  // that it lasts
  };

  std::map<RevisionId, Entry> entries_;  // of revisions that exist
  Counts counts_;
};

}  // namespace sluice::autoscaler
