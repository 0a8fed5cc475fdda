#include "platform/kubernetes/core/activator_ports.h"

#include "common/kube/request_scaler.h"
#include "common/ring/hash_ring.h"

namespace sluice::autoscaler {
namespace {

constexpr std::uint32_t kCount = kube::kActivatorPortLast - kube::kActivatorPortFirst + 1;

}  // namespace

void ActivatorPorts::give(const RevisionId& id, std::uint16_t port) {
  forget(id);
  holders_.insert_or_assign(port, id);
  ports_.insert_or_assign(id, port);
}

void ActivatorPorts::forget(const RevisionId& id) {
  const auto known = ports_.find(id);
  if (known == ports_.end()) return;
  holders_.erase(known->second);
  ports_.erase(known);
}

std::optional<RevisionId> ActivatorPorts::told(const RevisionId& id, std::uint16_t in_status) {
  if (!kube::is_activator_port(in_status)) return std::nullopt;
  const auto holder = holders_.find(in_status);
  if (holder == holders_.end()) {
    give(id, in_status);
    return std::nullopt;
  }
  if (holder->second == id || holder->second < id) return std::nullopt;
  const RevisionId loser = holder->second;
  forget(loser);
  give(id, in_status);
  return loser;
}

std::optional<std::uint16_t> ActivatorPorts::port_of(const RevisionId& id) {
  const auto known = ports_.find(id);
  if (known != ports_.end()) return known->second;
  // By its name, so that a scaler which is made again most likely has its old port, and replicas
  // that choose at once seldom choose alike.
  const auto start = static_cast<std::uint32_t>(ring::hash_of(id.space + "/" + id.name) % kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const auto port = static_cast<std::uint16_t>(kube::kActivatorPortFirst + (start + i) % kCount);
    if (holders_.contains(port)) continue;
    give(id, port);
    return port;
  }
  return std::nullopt;
}

}  // namespace sluice::autoscaler
