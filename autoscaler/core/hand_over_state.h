#pragma once

#include "common/base/ids.h"
#include "common/messages/hand_over.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sluice::autoscaler {

/// Clocks of replicas that differ by less are taken for the same.
inline constexpr Duration kHandOverSkew = std::chrono::seconds{2};

/// Nothing is believed of a sender whose clock is further away.
inline constexpr Duration kHandOverSkewMax = std::chrono::hours{24};

/// By how much the times of a message that was sent at `sent` by its sender's clock, and came `now`
/// by ours, must be moved: nothing, or an even number of seconds, so that every bucket and every
/// slot stays one. What it took on its way counts as skew, and makes its history as much younger.
/// Absent: more than kHandOverSkewMax.
[[nodiscard]] std::optional<Duration> skew_of(TimePoint sent, TimePoint now);

/// Moves every time in `scaler` by `by`, and those that are in the future then to `now`. False: its
/// windows reach further ahead than clocks differ, or its times were none; it is of no use.
[[nodiscard]] bool bring_to_our_clock(proto::HandedScaler& scaler, Duration by, TimePoint now);

/// What was handed to this replica and not fetched yet: it may come before the platform has told of
/// the revision. Kept for kHandedLife, and by our clock already.
class HandOverInbox {
 public:
  /// What is not fetched by then was meant for somebody else.
  static constexpr Duration kHandedLife = std::chrono::seconds{30};

  /// Revisions, at most; those beyond are left.
  static constexpr std::size_t kHandedAtOnceMax = 20'000;

  struct Accepted {
    proto::TakeReply reply{};
    std::vector<RevisionId> revisions{};  ///< to be fetched by whoever knows them already
  };

  /// Keeps those that are `ours`, by the bucket they belong to, and whose times make sense here.
  [[nodiscard]] Accepted accept(proto::TakeRequest request,
                                const std::function<bool(const RevisionId&)>& ours, TimePoint now);

  /// For RevisionScaler::take_over(); absent: nothing was handed, or long ago.
  [[nodiscard]] std::optional<proto::HandedScaler> fetch(const RevisionId& revision, TimePoint now);

  [[nodiscard]] std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    proto::HandedScaler scaler;
    TimePoint since;
  };

  std::unordered_map<RevisionId, Kept> kept_;
};

}  // namespace sluice::autoscaler
