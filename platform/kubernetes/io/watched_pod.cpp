#include "platform/kubernetes/io/watched_pod.h"

#include "common/net/address.h"

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

std::string dialled(const std::string& ip, std::uint16_t port) {
  if (ip.empty() || port == 0) return {};
  net::Address address;
  address.host = ip;
  address.port = port;
  return address.text();
}

WatchedPod watched_pod(const std::string& name, const kube::Pod& pod, std::uint16_t port) {
  const std::string address = dialled(pod.ip, port);
  return {.id = {name},
          .address = address,
          .stats = dialled(pod.ip, kStatsPort),
          .ready = pod.ready && !address.empty(),
          .terminating = pod.terminating,
          .node = pod.node,
          .failed = start_failure(pod).value_or("")};
}

}  // namespace sluice::autoscaler
