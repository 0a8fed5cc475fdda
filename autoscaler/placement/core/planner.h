#pragma once

#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/policy.h"
#include "autoscaler/placement/core/relocation.h"
#include "autoscaler/placement/core/service_book.h"
#include "autoscaler/placement/core/worth.h"
#include "common/time/time_point.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::placement {

/// Bounds of plans (`placement` in config.yaml).
struct PlanLimits {
  std::int32_t moves_max = 3;      ///< services, for one demand
  std::int32_t trials_max = 2000;  ///< placements tried, for one plan
  std::int64_t worth_divisor = 2;  ///< a plan is carried out if gain / cost is at least 1 / this
  Duration minimum_age = std::chrono::seconds{60};  ///< of a service that is moved
};

/// Moves after which a demand fits.
struct MovePlan {
  std::vector<PlannedMove> moves{};  ///< at least one, in the order in which they were proven
  PlaceId place{};                   ///< where the demand goes then
  NodeId node{};

  friend bool operator==(const MovePlan&, const MovePlan&) = default;
};

/// Why there is no plan.
enum class NoPlan : std::uint8_t {
  none,               ///< there is one
  not_needed,         ///< the demand fits, or no place matches
  too_big,            ///< no empty node could hold it
  no_movable,         ///< no service in the places that it likes may be moved
  too_young,          ///< those that would help may not be moved yet
  destinations_full,  ///< what would have to go has no other place with room
  too_many,           ///< more services would have to go than a plan may move
  no_starts,          ///< what would have to go has more replicas than may be started anywhere
  not_worth,          ///< it would disturb more than it brings
};

/// The snake_case name used in JSON.
[[nodiscard]] std::string_view name(NoPlan reason);

/// What the planner found.
struct PlanOutcome {
  std::optional<MovePlan> plan{};
  NoPlan reason = NoPlan::none;
  std::optional<MovePlan> later{};          ///< if too_young: what will do
  std::optional<TimePoint> movable_from{};  ///< since when all of `later` may be moved
  std::int32_t trials = 0;                  ///< placements tried
};

/// What a plan is asked for.
struct PlanRequest {
  Demand demand{};
  Urgency urgency = Urgency::normal;
  /// Asked of the destinations; and of the node that is emptied, where what leaves is added to what
  /// may start.
  Gate gate{};
  /// Replicas that may be started: a move starts all that leave before the first of them goes.
  std::int64_t starts_max = kUnbounded;
};

/// Looks for the fewest services whose move makes room for a demand that has none (placement.md
/// 5.5). Every destination is proven in the ledger together with all else of the plan, which is
/// taken back before the answer: the ledger is as it was.
class Planner {
 public:
  /// All are the caller's, for as long as this is.
  Planner(Ledger& ledger, const ServiceBook& book, Parameters& parameters)
      : ledger_(ledger), book_(book), parameters_(parameters) {}

  [[nodiscard]] PlanOutcome plan(const PlanRequest& request, const MigrationPolicy& policy,
                                 const PlanLimits& limits, TimePoint now);

 private:
  Ledger& ledger_;
  const ServiceBook& book_;
  Parameters& parameters_;
};

}  // namespace sluice::placement
