#include "platform/kubernetes/io/watched_pod.h"

#include "platform/kubernetes/core/start_failure.h"

namespace sluice::autoscaler {
namespace {

// Where sidecars answer a scrape (protocols.md 2).
constexpr std::uint16_t kStatsPort = 9090;

}  // namespace

bool lives(const kube::Pod& pod) {
  return pod.phase != "Succeeded" && pod.phase != "Failed";
}

bool made_by(const kube::Pod& pod, std::string_view kind, const std::string& name) {
  if (pod.owner.kind.empty()) return true;
  if (kind == "StatefulSet") return pod.owner.kind == kind && pod.owner.name == name;
  if (pod.owner.kind != "ReplicaSet") return false;
  // A ReplicaSet that a Deployment has taken over bears any name, and no hash.
  const auto hash = pod.labels.find("pod-template-hash");
  return hash == pod.labels.end() || pod.owner.name == name + "-" + hash->second;
}

std::optional<net::Address> dialled(const std::string& ip, std::uint16_t port) {
  if (ip.empty() || port == 0) return std::nullopt;
  return net::Address{.host = ip, .port = port, .path = {}};
}

model::Pod watched_pod(const std::string& name, const kube::Pod& pod, std::uint16_t port) {
  auto address = dialled(pod.ip, port);
  const bool ready = pod.ready && address;
  return {.id = {name},
          .node = pod.node,
          .address = std::move(address),
          .stats = dialled(pod.ip, kStatsPort),
          .ready = ready,
          .terminating = pod.terminating,
          .failed = start_failure(pod).value_or("")};
}

}  // namespace sluice::autoscaler
