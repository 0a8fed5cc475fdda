#pragma once

#include "memory-pressure/core/resident.h"
#include "memory-pressure/core/situation.h"
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::node_agent {

/// Which containers are throttled, how deep, and which are released: memory-pressure.md 5.3 to 5.5
/// without the last resort. One container always runs unthrottled.
class Pauses {
 public:
  explicit Pauses(const PolicySettings& settings) : settings_(settings) {}

  /// Continues the pauses of `residents`. `situation` follows what they change about the growth
  /// that is possible.
  void update(Residents& residents, Situation& situation);

  /// Since when there has been trouble that no further throttling could mend; absent: there is
  /// none, or it may still mend.
  [[nodiscard]] std::optional<TimePoint> exhausted_since() const;

 private:
  void end_of_exempt(Residents& residents, Situation& situation);
  void keep_one_running(Residents& residents, Situation& situation);
  void rotate(Residents& residents, Situation& situation);
  void restrict(Residents& residents, Situation& situation);
  bool restrict_for_safety(Residents& residents, Situation& situation);
  bool restrict_for_usage(Residents& residents, Situation& situation);
  void escalate(Residents& residents, Situation& situation);
  void release(Residents& residents, Situation& situation);

  /// Throttles the family of `first` at `step`; answers how many of it ran freely before, 0 when
  /// no container would be left running and nothing was done.
  std::size_t pause(Residents& residents, Resident& first, std::uint32_t step, Situation& situation,
                    const std::string& why);
  void set(Resident& resident, const CpuQuota& quota, Situation& situation);
  void end(Resident& resident, Situation& situation);
  [[nodiscard]] std::int64_t growth_at(const Resident& resident, const CpuQuota& quota,
                                       const Situation& situation) const;
  void note_restriction(const Situation& situation);
  [[nodiscard]] bool waited(Duration least, TimePoint now) const;

  PolicySettings settings_;
  std::uint64_t turn_ = 0;
  std::optional<TimePoint> restricted_at_;
  std::optional<TimePoint> rotated_at_;
  std::int64_t used_then_ = 0;  ///< when a container was last restricted
  bool exhausted_ = false;
};

}  // namespace sluice::node_agent
