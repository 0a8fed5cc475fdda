#pragma once

#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/planner.h"
#include "autoscaler/placement/core/service_book.h"
#include "common/time/time_point.h"

#include <optional>
#include <string>

namespace sluice::placement {

/// Why a service has a replica in a place, or none anywhere, and not where it would rather have it.
struct LikedPlace {
  std::optional<PlaceId>
      place{};  ///< the one that it likes most of those above; absent: it has that
  /// "fast has 4 of its 4 replicas; moving 1 service would make room: pay was started 12 s ago (may
  /// move from 60 s on)".
  std::string why{};
};

/// What is asked about one replica of a service.
struct LikedQuestion {
  Demand demand{};
  std::optional<PlaceId> in{};  ///< where the replica is; absent: it has none
  /// What the planner found for one replica in PlaceOrder::above() the tier of `in`.
  const PlanOutcome* outcome = nullptr;  ///< the caller's, for the call
  PlanLimits limits{};
};

[[nodiscard]] LikedPlace explain_liked(const Ledger& ledger, const ServiceBook& book,
                                       const LikedQuestion& question, TimePoint now);

/// Why a service may not be moved yet: "was started 12 s ago (may move from 60 s on)"; empty: it
/// may.
[[nodiscard]] std::string rest_words(const ServiceFacts& facts, Duration minimum_age,
                                     TimePoint now);

/// "moving 1 service makes room: pay to slow", or why there is no such plan; empty if none is
/// needed.
[[nodiscard]] std::string plan_words(const Ledger& ledger, const ServiceBook& book,
                                     const PlanOutcome& outcome, const PlanLimits& limits,
                                     TimePoint now);

}  // namespace sluice::placement
