#pragma once

#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/policy.h"
#include "autoscaler/placement/core/resources.h"
#include "autoscaler/placement/core/service_book.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::placement {

/// The values of an algorithm's parameters, in their order.
using ParameterValues = std::span<const std::int64_t>;

/// No rate is above.
inline constexpr Ppm kRateMax = kWhole * kWhole;

/// Rates services for a policy: a pure function of parameters.
struct Algorithm {
  std::string_view name;
  Direction direction = Direction::low_first;  ///< unless the policy has another
  std::span<const Parameter> parameters;
  /// In ppm, from 0 to kRateMax; absent: not defined for these values.
  std::optional<Ppm> (*rate)(ParameterValues) = nullptr;
};

/// All that there are.
[[nodiscard]] std::span<const Algorithm> algorithms();

/// Null: there is none of that name.
[[nodiscard]] const Algorithm* find_algorithm(std::string_view name);

/// Parameters of one cycle: each is measured once and shared by the algorithms that use it.
class Parameters {
 public:
  /// Both are the caller's, for as long as this is.
  Parameters(const Ledger& ledger, const ServiceBook& book) : ledger_(ledger), book_(book) {}

  /// What was measured is of the past from here on.
  void begin_cycle();

  [[nodiscard]] std::optional<std::int64_t> value(Parameter parameter, ServiceId service);
  [[nodiscard]] std::optional<Ppm> rate(const Algorithm& algorithm, ServiceId service);

 private:
  struct Cell {
    std::uint32_t cycle = 0;
    std::optional<std::int64_t> value;
  };

  [[nodiscard]] std::optional<std::int64_t> find(Parameter parameter, ServiceId service) const;

  const Ledger& ledger_;
  const ServiceBook& book_;
  std::uint32_t cycle_ = 1;
  std::array<std::vector<Cell>, kParameters> cells_;  // by service
};

/// What SCORING gives each service among these: the highest is moved first. In ppm of a weight
/// of 1.
[[nodiscard]] std::vector<std::int64_t> scores_by_policy(std::span<const ServiceId> services,
                                                         const MigrationPolicy& policy,
                                                         Parameters& parameters);

/// Sorts services: the first is moved first (placement.md 5.4). Equal inputs give equal orders: of
/// equals the lower id comes first. Returns the rank of each, from 0 on: the policy sees no
/// difference between services of one rank.
std::vector<std::size_t> sort_by_policy(std::vector<ServiceId>& services,
                                        const MigrationPolicy& policy, const ServiceBook& book,
                                        Parameters& parameters);

}  // namespace sluice::placement
