#pragma once

#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/policy.h"
#include "autoscaler/placement/core/resources.h"
#include "autoscaler/placement/core/service_book.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a policy would choose now, without doing it.
namespace sluice::placement {

/// One service that a policy would move out of a place.
struct RankedService {
  ServiceId service{};
  std::size_t rank = 0;  ///< from 0 on; equal: the policy sees no difference
  std::int32_t move_priority = 0;
  std::vector<std::optional<Ppm>> values{};  ///< of the policy's algorithms; absent: not known
  std::optional<std::int64_t> score{};       ///< SCORING
  std::string why{};                         ///< "first", "after pay by in-flight"
};

/// One that it would leave where it is.
struct StayingService {
  ServiceId service{};
  std::string why{};
};

/// The services of one place.
struct PlaceRanking {
  PlaceId place{};
  std::vector<RankedService> moved{};  ///< in the order of the policy
  std::vector<StayingService> stay{};
};

/// `minimum_age` of a service that is moved; absent: age and cool-down do not count, as in a drain.
[[nodiscard]] PlaceRanking rank_place(const Ledger& ledger, const ServiceBook& book,
                                      Parameters& parameters, const MigrationPolicy& policy,
                                      PlaceId place, std::optional<Duration> minimum_age,
                                      TimePoint now);

}  // namespace sluice::placement
