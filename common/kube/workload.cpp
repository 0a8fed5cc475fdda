#include "common/kube/json_read.h"
#include "common/kube/objects.h"
#include "common/kube/pod_claim.h"
#include "common/kube/sidecar.h"

namespace sluice::kube {
namespace {

using nlohmann::json;

std::vector<Workload::Port> ports_of(const json& pod_spec) {
  std::vector<Workload::Port> ports;
  for (const json& container : reading::array(pod_spec, "containers")) {
    if (reading::text(container, "name") == kSidecarContainer) continue;
    for (const json& port : reading::array(container, "ports")) {
      const std::uint16_t number = reading::port(port, "containerPort");
      if (number == 0) continue;
      ports.push_back({reading::text(port, "name"), number, kube::protocol(port)});
    }
    if (!ports.empty()) break;
  }
  return ports;
}

// What keeps pods from being made at all says more than the deadline that passes because of it.
std::string progress_problem(const json& status) {
  const json& failure = kube::condition(status, "ReplicaFailure");
  if (reading::text(failure, "status") == "True") return reading::text(failure, "message");
  const json& progress = kube::condition(status, "Progressing");
  if (reading::text(progress, "status") == "False") return reading::text(progress, "message");
  return {};
}

}  // namespace

std::optional<Workload> decode_workload(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& metadata = reading::member(document, "metadata");
  const json& spec = reading::member(document, "spec");
  const json& status = reading::member(document, "status");
  const json& pod_template = reading::member(spec, "template");
  const json& pod_metadata = reading::member(pod_template, "metadata");
  Workload workload;
  workload.uid = reading::text(metadata, "uid");
  workload.replicas = reading::integer32(spec, "replicas", 1);
  workload.selector = kube::selector(reading::member(spec, "selector"));
  workload.paused = reading::flag(spec, "paused");
  workload.terminating = kube::is_terminating(metadata);
  workload.status_replicas = reading::integer32(status, "replicas", 0);
  workload.status_ready = reading::integer32(status, "readyReplicas", 0);
  workload.template_labels = reading::string_map(pod_metadata, "labels");
  workload.template_annotations = reading::string_map(pod_metadata, "annotations");
  const json& pod_spec = reading::member(pod_template, "spec");
  workload.ports = ports_of(pod_spec);
  workload.progress_problem = progress_problem(status);
  workload.claim_memory = memory_claim(pod_spec);
  workload.claim_cpu = cpu_claim(pod_spec);
  return workload;
}

std::optional<OtherScaler> decode_other_scaler(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& target = reading::member(reading::member(document, "spec"), "scaleTargetRef");
  OtherScaler scaler{reading::text(target, "kind"), reading::text(target, "name")};
  if (scaler.target_name.empty()) return std::nullopt;
  if (scaler.target_kind.empty()) scaler.target_kind = "Deployment";  // as KEDA has it
  return scaler;
}

}  // namespace sluice::kube
