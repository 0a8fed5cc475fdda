#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// The decisions of late that changed something, of all revisions together: what `history` and
/// `explain?at=` are answered from. The oldest make room for new ones; a restart empties it.
class DecisionRing {
 public:
  static constexpr std::size_t kDecisionsMax = 20'000;

  explicit DecisionRing(std::size_t decisions_max = kDecisionsMax) : max_{decisions_max} {}

  void add(const RevisionId& revision, const DecisionRecord& record);

  /// Of one revision, since `since`, newest last.
  [[nodiscard]] std::vector<DecisionRecord> since(const RevisionId& revision,
                                                  TimePoint since) const;

  /// The decision in force at `at`; absent when it was before what is kept.
  [[nodiscard]] std::optional<DecisionRecord> at(const RevisionId& revision, TimePoint at) const;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    RevisionId revision;
    DecisionRecord record;
  };

  std::size_t max_;
  std::deque<Entry> entries_;  // by time
};

}  // namespace sluice::autoscaler
