#pragma once

#include "memory-pressure/core/node.h"
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// What a container on the simulated node does: holds half of its limit, then `cycles` times grows
/// in steps to a random level within the other half and frees it again (memory-pressure.md 2).
struct Workload {
  std::int64_t limit = 0;
  std::int64_t step = 0;
  int cycles = 0;               ///< 0: never changes
  double nap_ms = 0;            ///< between two steps
  double work_ms = 0;           ///< CPU of a step beside the faults
  double rest_ms = 0;           ///< after it has freed
  std::int64_t told_limit = 0;  ///< that the runtime tells, where it is above `limit`
};

/// One container in the simulated kernel.
struct Cgroup {
  Container shown;  ///< identity and marks, as the runtime lists it
  Workload load;
  CpuQuota original;
  CpuQuota quota;
  bool frozen = false;
  std::int64_t used = 0;
  int cycle = 0;
  double cpu_ms = 0;  ///< ever consumed

  std::int64_t level = 0;     ///< where this cycle frees
  std::int64_t to_fault = 0;  ///< bytes left of this step
  double to_work = 0;         ///< CPU left of this step
  double nap_until = 0;
  double tokens = 0;  ///< CPU left of this bandwidth period
  double period_ends = 0;
};

/// Memory and CPU of one node: cores shared fairly, bandwidth quotas by periods, faults that cost
/// CPU (section 3: 2 MiB per millisecond of it, at most 227 MiB/s), an OOM killer that takes the
/// largest. Time in milliseconds.
class SimKernel {
 public:
  SimKernel(std::int64_t capacity, double cores, std::uint64_t seed)
      : capacity_(capacity), cores_(cores), random_(seed) {}

  Cgroup& create(const Container& shown, const Workload& load, const CpuQuota& original,
                 double now);

  void remove(const std::string& id) { groups_.erase(id); }

  /// Lets `milliseconds` pass from `now`. Answers who was killed for memory, then who completed.
  void pass(double now, double milliseconds, std::vector<std::string>& killed,
            std::vector<std::string>& completed);

  [[nodiscard]] std::map<std::string, Cgroup>& groups() { return groups_; }

  [[nodiscard]] const std::map<std::string, Cgroup>& groups() const { return groups_; }

  [[nodiscard]] std::int64_t used() const;

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }

 private:
  void begin_cycle(Cgroup& group);
  void plan_step(Cgroup& group, double now);
  void spend(Cgroup& group, double cpu_ms, double milliseconds);
  [[nodiscard]] bool wants_cpu(const Cgroup& group, double now) const;
  void kill_largest(std::vector<std::string>& killed);

  std::int64_t capacity_;
  double cores_;
  std::mt19937_64 random_;
  std::map<std::string, Cgroup> groups_;
};

}  // namespace sluice::node_agent
