#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/cri/cri.h"
#include <string>
#include <string_view>

namespace sluice::node_agent {

/// What is known of a container beside its numbers.
struct PodFacts {
  const cri::Sandbox* sandbox = nullptr;      ///< absent: not known
  const cri::Container* container = nullptr;  ///< never absent
  const cri::Resources* resources = nullptr;  ///< absent: the runtime does not report them
  std::string_view cgroup{};                  ///< path of its control group; empty: not known
  std::string_view own_cgroup{};              ///< of this program
  bool has_request_proxy = false;             ///< a container of its pod is called `queue-proxy`
};

/// The rules for throttling the container from labels, annotations and settings (memory-pressure.md
/// 5.2, 11.3, 11.4). CRI does not report which containers are init containers or probed, nor a
/// pod's restart policy: those marks rest on names and labels.
[[nodiscard]] Marks marks_of(const PodFacts& facts);

/// The name that the pods of one Job, and of the Jobs of one CronJob, have in common; empty: it is
/// of no Job.
[[nodiscard]] std::string job_template_of(const PodFacts& facts);

/// By the pod's control group where the kubelet made it, else by limits and shares.
[[nodiscard]] QosClass qos_of(const PodFacts& facts);

/// How many CPUs a list such as `0-2,5` names; 0: none, or not a list.
[[nodiscard]] int cpus_in(std::string_view list);

/// Name of the sidecar that forwards requests (11.4).
inline constexpr std::string_view kRequestProxy = "queue-proxy";

}  // namespace sluice::node_agent
