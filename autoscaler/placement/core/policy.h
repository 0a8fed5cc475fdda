#pragma once

#include "autoscaler/placement/core/move_view.h"
#include "autoscaler/placement/core/resources.h"
#include "common/base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::placement {

enum class Direction : std::uint8_t { low_first, high_first };

/// One algorithm of a policy, by name.
struct AlgorithmRef {
  std::string name{};
  std::int64_t weight = 1;               ///< SCORING; from 0 to kWeightMax
  std::optional<Direction> direction{};  ///< absent: the algorithm's own
  Ppm quantum = 10'000;                  ///< ORDER: values of one quantum are equal; above 0

  friend bool operator==(const AlgorithmRef&, const AlgorithmRef&) = default;
};

/// Algorithms of one policy, at most.
inline constexpr std::size_t kAlgorithmsMax = 8;
/// No weight is above.
inline constexpr std::int64_t kWeightMax = 1000;

/// Which service is moved first.
struct MigrationPolicy {
  enum class Mode : std::uint8_t {
    order,    ///< by the first algorithm, of equals by the next
    scoring,  ///< by the weighted sum
  };

  enum class Select : std::uint8_t {
    fewest,        ///< as few services as make the room
    policy_first,  ///< in this order until there is room
  };

  std::string name{};
  Mode mode = Mode::order;
  std::vector<AlgorithmRef> algorithms{};
  Select select = Select::fewest;
  /// For what services are moved when it decides; never `hand`.
  std::vector<MoveCause> triggers = {MoveCause::full, MoveCause::drain, MoveCause::home};

  [[nodiscard]] bool is_for(MoveCause cause) const;

  friend bool operator==(const MigrationPolicy&, const MigrationPolicy&) = default;
};

/// The policy `default`: what disturbs the fewest requests for each core that it frees.
[[nodiscard]] MigrationPolicy default_policy();

/// The first of `policies` that is for that cause, else default_policy().
[[nodiscard]] MigrationPolicy policy_for(std::span<const MigrationPolicy> policies,
                                         MoveCause cause);

/// The names used in config.yaml.
[[nodiscard]] std::string_view name(Direction direction);
[[nodiscard]] std::string_view name(MigrationPolicy::Mode mode);
[[nodiscard]] std::string_view name(MigrationPolicy::Select select);

/// What is wrong with a policy.
struct WrongPolicy {
  Problem problem{};
  std::optional<std::size_t> algorithm{};  ///< its place in the list; absent: the whole is wrong
};

/// Empty when nothing is.
[[nodiscard]] std::vector<WrongPolicy> check(const MigrationPolicy& policy);

}  // namespace sluice::placement
