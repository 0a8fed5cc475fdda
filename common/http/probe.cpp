#include "common/http/probe.h"

namespace sluice::http {

ProbeKind classify_probe(const RequestHead& head) {
  const std::string_view agent = head.fields.get(Known::user_agent);
  if (agent.starts_with("kube-probe/") || agent.starts_with("Knative-Activator-Probe") ||
      agent.starts_with("Knative-Autoscaling-Probe")) {
    return ProbeKind::health;
  }
  if (head.fields.get(Known::k_network_probe) == "probe") return ProbeKind::network;
  return ProbeKind::none;
}

bool is_kubelet_probe(const RequestHead& head) {
  return head.fields.get(Known::user_agent).starts_with("kube-probe/") ||
         !head.fields.get(Known::k_kubelet_probe).empty();
}

bool health_needs_probe(const RequestHead& head, bool draining) {
  return !draining && head.fields.get(Known::k_network_probe) == "queue";
}

ProbeAnswer health_answer(const RequestHead& head, bool draining, bool ready) {
  if (draining) return {503, "shutting down\n", {}};
  const std::string_view value = head.fields.get(Known::k_network_probe);
  if (value != "queue") {
    return {400, "unexpected probe header value: " + std::string{value} + "\n", {}};
  }
  return ready ? ProbeAnswer{200, "queue", {}} : ProbeAnswer{503, {}, {}};
}

ProbeAnswer network_answer(const RequestHead& head, bool draining) {
  if (draining) return {503, "shutting down\n", {}};
  const std::string_view hash = head.fields.get(Known::k_network_hash);
  if (hash.empty()) {
    return {400, "a probe request must contain a non-empty \"K-Network-Hash\" header\n", {}};
  }
  return {200, {}, std::string{hash}};
}

}  // namespace sluice::http
