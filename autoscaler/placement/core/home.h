#pragma once

#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/planner.h"
#include "autoscaler/placement/core/relocation.h"
#include "autoscaler/placement/core/service_book.h"
#include "common/time/time_point.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace sluice::placement {

/// Bounds of moves home (`placement` in config.yaml).
struct HomeLimits {
  Duration hold = std::chrono::minutes{10};
  Duration spacing = std::chrono::minutes{1};  ///< between two services into one place
};

/// Which services come home: to a place they like more, once it has had room for all replicas of
/// the place they leave, and a tenth of their CPU and memory to spare, for the whole hold
/// (placement.md 5.12).
class HomeWatch {
 public:
  /// Looks at the services given; call with every cycle, or every few seconds. Returns moves that
  /// are proven together, at most one into each place, the service farthest from home first; the
  /// ledger is as it was.
  [[nodiscard]] std::vector<PlannedMove> look(Ledger& ledger, const ServiceBook& book,
                                              Parameters& parameters,
                                              std::span<const ServiceId> services,
                                              const HomeLimits& home, const PlanLimits& limits,
                                              TimePoint now, const Gate& gate = {});

  /// When the service may come home if the room stays; absent: there is no room for it.
  [[nodiscard]] std::optional<TimePoint> due(ServiceId service, const HomeLimits& home) const;

  void forget(ServiceId service) { waiting_.erase(service); }

  /// Times that there was room and it went before the hold had passed.
  [[nodiscard]] std::int64_t suppressed() const { return suppressed_; }

 private:
  struct Waiting {
    PlaceId place{};
    TimePoint since{};
  };

  std::map<ServiceId, Waiting> waiting_;
  std::map<PlaceId, TimePoint> last_;  // a service came home there
  std::int64_t suppressed_ = 0;
};

}  // namespace sluice::placement
