#pragma once

#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/resources.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::placement {

/// What algorithms compute from. A ServiceBook is asked for the first four; the others follow from
/// its facts and from the ledger.
enum class Parameter : std::uint8_t {
  cpu_used,            ///< millicores, all replicas
  in_flight,           ///< requests
  request_rate,        ///< requests in a thousand seconds
  application_places,  ///< in how many places the application of the service has replicas
  cpu_requested,       ///< millicores, all replicas
  replicas,            ///< that exist
  places,              ///< that there are
  start_time,          ///< usual milliseconds from start to ready
  home_distance,       ///< tiers between its worst place and its most liked
};

inline constexpr std::size_t kParameters = 9;

/// What a plan has to know of a service, beside what the ledger holds for it.
struct ServiceFacts {
  std::string name{};                        ///< for explanations
  const PlaceOrder* order = nullptr;         ///< the caller's
  Resources need{.slots = 1};                ///< of one replica
  std::int32_t max_per_node = 0;             ///< 0: no limit
  std::int32_t move_priority = 0;            ///< lower is moved first
  ApplicationId application{};               ///< 0: none
  bool movable = true;                       ///< not fixed where it is by its owner
  bool moving = false;                       ///< a move of it runs
  TimePoint started{};                       ///< its youngest replica
  std::optional<Duration> usual_start{};     ///< from start to ready; absent: not measured
  std::optional<TimePoint> cooling_until{};  ///< after a move
};

/// Reads services. The caller's, in one thread with the plan.
class ServiceBook {
 public:
  virtual ~ServiceBook() = default;

  /// Null: it is not known here, so it is not moved.
  [[nodiscard]] virtual const ServiceFacts* find(ServiceId service) const = 0;

  /// Measures; absent: not known or stale. Asked once a cycle, and only for what is used.
  [[nodiscard]] virtual std::optional<std::int64_t> measure(Parameter parameter,
                                                            ServiceId service) const = 0;
};

}  // namespace sluice::placement
