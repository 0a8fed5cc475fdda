#include "common/kube/json_read.h"
#include "common/kube/labels.h"
#include "common/kube/objects.h"
#include "common/kube/sidecar.h"
#include "common/values/rfc3339.h"
#include "common/values/whole_number.h"

#include <utility>

namespace sluice::kube {
namespace {

using nlohmann::json;

constexpr const char* kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

// activator.md 6.3: kubelet knows more than our sidecar where it asks what the sidecar cannot ask.
bool is_fast_ready(const json& spec) {
  for (const json& container : reading::array(spec, "initContainers")) {
    if (is_native_sidecar(container) && reading::member(container, "startupProbe").is_object()) {
      return false;
    }
  }
  bool main_seen = false;
  for (const json& container : reading::array(spec, "containers")) {
    if (reading::member(container, "startupProbe").is_object()) return false;
    if (main_seen || reading::text(container, "name") == kSidecarContainer) continue;
    main_seen = true;
    const json& probe = reading::member(container, "readinessProbe");
    if (reading::member(probe, "exec").is_object()) return false;
  }
  return true;
}

std::uint16_t serving_port(const json& spec) {
  for (const char* const list : {"initContainers", "containers"}) {
    for (const json& container : reading::array(spec, list)) {
      for (const json& port : reading::array(container, "ports")) {
        if (reading::text(port, "name") == kQueuePort) {
          return reading::port(port, "containerPort");
        }
      }
    }
  }
  return 0;
}

std::int32_t deletion_cost(const json& metadata) {
  const json& annotations = reading::member(metadata, "annotations");
  return whole_number<std::int32_t>(reading::text(annotations, kDeletionCost)).value_or(0);
}

TimePoint time(const json& object, const char* key) {
  return parse_rfc3339(reading::text(object, key)).value_or(TimePoint{});
}

// A container that is ready, or is only being created, has nothing to tell and costs no memory.
std::optional<Pod::Container> unready_container(const json& status) {
  if (reading::flag(status, "ready")) return std::nullopt;
  const json& state = reading::member(status, "state");
  Pod::Container container;
  container.waiting = reading::text(reading::member(state, "waiting"), "reason");
  const json* end = &reading::member(state, "terminated");
  if (!end->is_object()) {
    end = &reading::member(reading::member(status, "lastState"), "terminated");
  }
  if (end->is_object()) {
    container.end = Pod::Container::End{.exit_code = reading::integer32(*end, "exitCode", 0),
                                        .signal = reading::integer32(*end, "signal", 0),
                                        .reason = reading::text(*end, "reason"),
                                        .began = time(*end, "startedAt")};
  }
  const bool being_created = container.waiting.empty() ||
                             container.waiting == "ContainerCreating" ||
                             container.waiting == "PodInitializing";
  if (!container.end && being_created) return std::nullopt;
  container.name = reading::text(status, "name");
  container.image = reading::text(status, "image");
  container.running = reading::member(state, "running").is_object();
  container.restarts = reading::integer32(status, "restartCount", 0);
  return container;
}

std::vector<Pod::Container> unready_containers(const json& status) {
  std::vector<Pod::Container> all;
  for (const char* const list : {"initContainerStatuses", "containerStatuses"}) {
    for (const json& each : reading::array(status, list)) {
      if (auto container = unready_container(each)) all.push_back(std::move(*container));
    }
  }
  return all;
}

}  // namespace

std::optional<Pod> decode_pod(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& metadata = reading::member(document, "metadata");
  const json& spec = reading::member(document, "spec");
  const json& status = reading::member(document, "status");
  Pod pod;
  pod.uid = reading::text(metadata, "uid");
  pod.labels = reading::string_map(metadata, "labels");
  pod.node = reading::text(spec, "nodeName");
  pod.ip = reading::text(status, "podIP");
  pod.phase = reading::text(status, "phase");
  const json& ready = kube::condition(status, "Ready");
  pod.ready = reading::text(ready, "status") == "True";
  pod.terminating = kube::is_terminating(metadata);
  pod.fast_ready = is_fast_ready(spec);
  pod.serving_port = serving_port(spec);
  const json& scheduled = kube::condition(status, "PodScheduled");
  if (reading::text(scheduled, "status") == "False") {
    pod.scheduling_problem = reading::text(scheduled, "message");
    if (pod.scheduling_problem.empty()) {
      pod.scheduling_problem = reading::text(scheduled, "reason");
    }
  }
  pod.owner = kube::controller_of(metadata);
  pod.created = time(metadata, "creationTimestamp");
  pod.deletion_cost = deletion_cost(metadata);
  pod.unready = unready_containers(status);
  if (!pod.unready.empty()) pod.ready_changed = time(ready, "lastTransitionTime");
  return pod;
}

}  // namespace sluice::kube
