#pragma once

#include "tests/simulation/node_kernel.h"

#include "memory-pressure/core/controller.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// A replay: so many jobs, so many at once, on one node.
struct NodeScene {
  std::int64_t capacity = 0;
  double cores = 1;
  Workload load;
  int jobs = 0;
  int at_once = 0;
  double backoff_scale = 1;  ///< of 10, 20, 40 ... 300 s
  double step_ms = 10;       ///< of the simulation
  double give_up_ms = 0;
  bool own_gate = false;  ///< the controller grants starts, as on one machine; else the node book
  std::optional<double> sight_ms{};  ///< a birth is seen after; absent: in the next list only
  bool bystanders = false;           ///< a service with a limit of its own, and one that opted out
};

/// The experiment at 1/64 (memory-pressure.md 4): 512 MiB, jobs of 64 MiB.
[[nodiscard]] NodeScene lab(int at_once);
/// The same at full size: 32 GiB, jobs of 4 GiB that take minutes.
[[nodiscard]] NodeScene full_size(int at_once);

/// The same jobs nearer to the published experiment: double the step, and 45 % of their time they
/// rest with what they hold always.
[[nodiscard]] NodeScene faithful(NodeScene scene);

struct NodeFaults {
  double lost = 0;  ///< share of updates whose answer never comes; half of them take effect
  double late = 0;  ///< share of updates that take effect up to 4 s later
  bool runtime_down = false;  ///< twice, for some seconds
  bool crash = false;         ///< the agent is killed now and then and started again
  bool clock_steps = false;
};

/// How a mutant differs from what is built.
struct Doctoring {
  std::function<void(Decision&, const Observation&)> decision{};
  std::function<void(CpuQuota&)> update{};
  bool loses_journal = false;
  bool loses_thaws = false;
};

struct NodeRun {
  int restarts_kernel = 0;
  int restarts_own = 0;
  int done = 0;
  double makespan_ms = 0;
  double core_ms = 0;
  double wasted_ms = 0;  ///< CPU of runs that ended by a kill
  int updates = 0;
  int freezes = 0;
  std::int64_t peak = 0;
  double longest_pause_ms = 0;        ///< of one that had run for a while
  std::vector<std::string> breaches;  ///< of the properties, in order
};

/// Plays `scene` under `rules`; the same seed is the same run.
[[nodiscard]] NodeRun play(const NodeScene& scene, const MemoryController::Options& rules,
                           std::uint64_t seed, const NodeFaults& faults = {},
                           const Doctoring& doctoring = {});

/// Several runs, one seed each.
struct Sum {
  int own = 0;
  int kernel = 0;
  double makespan_s = 0;
  double wasted_s = 0;
  int updates = 0;
  double longest_pause_ms = 0;
  std::string breaches;  ///< each on a line, with its seed

  [[nodiscard]] int restarts() const { return kernel + own; }
};

/// Plays `scene` with the seeds from 1 on.
[[nodiscard]] Sum pooled(const NodeScene& scene, const MemoryController::Options& rules,
                         std::uint64_t seeds, const NodeFaults& faults = {});

/// Rules of the lab's scale that refuse no start.
[[nodiscard]] MemoryController::Options throttling(PolicyKind policy);

/// Whether one of ten runs that only throttle breaks a promise that reads like `claim`.
[[nodiscard]] bool breaks(std::string_view claim, const Doctoring& doctoring,
                          const NodeFaults& faults = {}, PolicyKind policy = PolicyKind::headroom);

}  // namespace sluice::node_agent
