#pragma once

#include "common/time/time_point.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// CPU bandwidth of a container as the kernel enforces it.
struct CpuQuota {
  std::int64_t quota_us = -1;  ///< CPU time per period; -1: no limit. Never 0
  std::int64_t period_us = 100'000;

  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

/// Kubernetes' quality-of-service classes, in the order in which they are throttled
/// (memory-pressure.md 5.2).
enum class QosClass : std::uint8_t { best_effort, burstable, guaranteed };

/// The rules for throttling a container from the annotations, labels and spec of its pod
/// (memory-pressure.md 5.2, 11.3).
struct Marks {
  bool never = false;           ///< `sluice.dev/throttle: never`
  bool holds_lock = false;      ///< `sluice.dev/holds-lock: "true"`
  bool whole_pod = false;       ///< `sluice.dev/pause: pod`
  bool sacrifice_jobs = false;  ///< `sluice.dev/sacrifice-jobs: "true"`
  bool job = false;             ///< never started again when it fails (restartPolicy Never)
  bool batch = false;           ///< of a pod that a Job made (label `batch.kubernetes.io/job-name`)
  bool system = false;  ///< kube-system, static or critical pod, the runtime or a program of ours
  bool init = false;    ///< an init container
  bool request_proxy = false;   ///< the sidecar of a serving pod
  bool serves = false;          ///< serves behind such a sidecar
  bool exclusive_cpus = false;  ///< pinned to CPUs of its own
  bool exec_probe = false;      ///< known to be probed by a command inside it
};

/// A container as the runtime and the kernel show it at one moment.
struct Container {
  std::string id;
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod;
  std::string name;
  std::uint32_t attempt = 0;
  std::string image{};         ///< id of its image; empty: not known
  std::string job_template{};  ///< of a Job's pod: its name without the Job controller's suffix
  TimePoint started;           ///< by the runtime's clock

  /// When its program was seen to run in place of the runtime's; absent: it ran before it was
  /// watched, or births are not watched here.
  std::optional<TimePoint> born{};

  /// False: the runtime has not said yet what it is. Only `id`, `born`, `memory_limit`, `cgroup`
  /// and what the kernel counts are known.
  bool described = true;
  /// Path of its control group; empty: it can or must not be frozen, as one that the runtime shows
  /// as paused, which another program froze.
  std::string cgroup{};
  QosClass qos = QosClass::best_effort;
  Marks marks;
  std::int64_t memory_limit = 0;  ///< bytes; 0: none

  /// Of one without a limit: bytes that others like it are known to reach. It is then no stranger
  /// that may take all there is. 0: unknown.
  std::int64_t claim = 0;

  /// Bytes in use that cannot be reclaimed; absent: not known yet, which is not 0.
  std::optional<std::int64_t> working_set;
  TimePoint sampled;  ///< when working_set and frozen were read

  /// As the kernel has it; absent: not read yet or unreadable.
  std::optional<CpuQuota> quota;
  std::optional<bool> frozen{};  ///< or on its way there; absent: not read or unreadable
  std::optional<std::uint32_t> processes{};  ///< 0: it is over; absent: not counted
  std::int64_t pod_quota_us = -1;  ///< of the parent cgroup, at the same period; -1: no limit
  std::optional<bool> ready;       ///< absent: unknown

  /// It serves, has had no request for a while, and is let go before the next one reaches it.
  bool rests = false;
};

/// Stall information of the kernel (PSI), in percent of the last ten seconds.
struct Stall {
  double some_avg10 = 0;
  double full_avg10 = 0;
};

/// The memory of the node, or of the cgroup that plays one.
struct NodeMemory {
  std::int64_t capacity = 0;  ///< bytes; the tightest of what bounds it; read again at every sample
  std::int64_t used = 0;      ///< bytes that cannot be reclaimed, swap in use included
  std::optional<Stall> stall;  ///< absent: the kernel has none

  /// Whether more than this share of the capacity is used.
  [[nodiscard]] bool is_above(double share) const {
    return static_cast<double>(used) > share * static_cast<double>(capacity);
  }
};

/// The input of a policy, at one moment. Running containers only.
struct Observation {
  TimePoint now;
  std::optional<NodeMemory> memory;  ///< absent: it could not be read
  bool runtime_answers = true;       ///< false: `containers` is the last known list
  bool evicted = false;              ///< the kubelet has evicted a pod since the last observation
  /// What nine of ten holds and releases took of late, from the call to its answer; absent: none
  /// has ended yet. Set by the controller.
  std::optional<Duration> update_latency{};
  std::vector<Container> containers;

  /// The container of that id; null: none is listed.
  [[nodiscard]] const Container* find(std::string_view id) const {
    const auto found = std::find_if(containers.begin(), containers.end(),
                                    [&](const Container& one) { return one.id == id; });
    return found == containers.end() ? nullptr : &*found;
  }
};

}  // namespace sluice::node_agent
