#pragma once

#include "memory-pressure/core/exemptions.h"
#include "memory-pressure/core/floors.h"
#include "memory-pressure/core/growth.h"
#include "memory-pressure/core/node.h"
#include "memory-pressure/core/quota.h"
#include "memory-pressure/core/settings.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// A throttle that the headroom rule holds.
struct Pause {
  std::uint64_t turn = 0;  ///< orders pauses by their beginning
  std::uint32_t step = 0;  ///< of memory-pressure.md 5.5
  CpuQuota quota;
  bool releasing = false;  ///< on its way up: 100m, 500m, original
  bool was_ready = false;  ///< when it began
  TimePoint since;
  TimePoint changed;  ///< of the quota
  std::string why;
};

/// A running container with what the policy keeps of it. Times are the policy's own.
struct Resident {
  Container seen;  ///< as last observed
  std::optional<Exemption> exempt;
  Growth growth;
  TimePoint first_seen;
  Duration age_then{};             ///< by the runtime's clock, when first seen; 0 if that is ahead
  CpuQuota original = kUnlimited;  ///< what it has while we leave it alone
  std::int64_t floor = 0;          ///< millicores
  std::optional<Pause> pause;
  std::optional<TimePoint> ran_since;     ///< end of the last pause
  std::optional<TimePoint> spared_until;  ///< others are chosen before it
  bool leaving = false;                   ///< it is being sacrificed
};

[[nodiscard]] Duration age(const Resident& resident, TimePoint now);

/// Bytes that `resident` may add within the horizon under `quota`: up to its limit, less if it was
/// watched long enough to measure it, less if so little CPU cannot fault in more
/// (memory-pressure.md 5.3). `capacity` stands in for a missing limit.
[[nodiscard]] std::int64_t possible_growth(const Resident& resident, const CpuQuota& quota,
                                           std::int64_t capacity, const PolicySettings& settings,
                                           TimePoint now);

/// What governs it now: the pause or the original.
[[nodiscard]] CpuQuota quota_in_force(const Resident& resident);

/// All containers of the node, by id.
class Residents {
 public:
  explicit Residents(const PolicySettings& settings) : settings_(settings), floors_(settings) {}

  /// Takes a new list: drops containers that are gone, adds new ones, samples growth, and raises
  /// the floor of those that lost readiness or restarted while paused (row 54), which ends that
  /// pause.
  void update(const Observation& observation, TimePoint now);

  [[nodiscard]] std::map<std::string, Resident>& all() { return all_; }

  [[nodiscard]] const std::map<std::string, Resident>& all() const { return all_; }

  /// Bytes per second that all containers together add, without what others give back.
  [[nodiscard]] double growth() const;

  /// The named container, or with `sluice.dev/pause: pod` all of its pod.
  [[nodiscard]] std::vector<Resident*> family(Resident& resident);

 private:
  void greet(const Container& container, const Observation& observation, TimePoint now);
  void refresh(Resident& resident, const Container& container, const Observation& observation,
               TimePoint now);
  void part(const Resident& resident);

  PolicySettings settings_;
  Floors floors_;
  std::map<std::string, Resident> all_;
  /// Attempts that ended while paused, by pod and container name; bounded.
  std::map<std::string, std::uint32_t> ended_paused_;
  bool first_ = true;
};

}  // namespace sluice::node_agent
