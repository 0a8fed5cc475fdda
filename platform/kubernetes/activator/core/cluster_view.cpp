#include "platform/kubernetes/activator/core/cluster_view.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::activator {

namespace {

// What the port of a sidecar is called in the services of Knative, and that of an activator in
// its own and in ours (activator.md 6.1, 5.6).
std::string_view port_name(bool h2c) {
  return h2c ? "http2" : "http";
}

std::uint16_t port_called(const std::vector<SlicePort>& ports, std::string_view name) {
  const auto port = std::find_if(ports.begin(), ports.end(),
                                 [name](const SlicePort& one) { return one.name == name; });
  return port == ports.end() ? std::uint16_t{0} : port->port;
}

}  // namespace

void ClusterView::set(Specs& specs, const RevisionId& id, ServingSpec spec) {
  const auto [found, is_new] = specs.try_emplace(id);
  if (!is_new && found->second == spec) return;
  found->second = std::move(spec);
  changed_.insert(id);
}

void ClusterView::drop(Specs& specs, const RevisionId& id) {
  if (specs.erase(id) > 0) changed_.insert(id);
}

void ClusterView::set_scaler(const RevisionId& id, ServingSpec spec) {
  set(scalers_, id, std::move(spec));
}

void ClusterView::drop_scaler(const RevisionId& id) {
  drop(scalers_, id);
}

void ClusterView::set_knative(const RevisionId& id, ServingSpec spec) {
  set(knatives_, id, std::move(spec));
}

void ClusterView::drop_knative(const RevisionId& id) {
  drop(knatives_, id);
}

void ClusterView::set_knative_contract(settings::KnativeContract contract) {
  if (std::exchange(knative_contract_, contract) == contract) return;
  for (const auto& [id, spec] : knatives_) changed_.insert(id);
}

void ClusterView::set_selection(const ClusterName& service, PodSelection selection) {
  selections_.set_selection(service, std::move(selection));
}

void ClusterView::drop_selection(const ClusterName& service) {
  selections_.drop_selection(service);
}

void ClusterView::set_pod(const ClusterName& name, ClusterPod pod) {
  selections_.set_pod(name, std::move(pod));
}

void ClusterView::drop_pod(const ClusterName& name) {
  selections_.drop_pod(name);
}

void ClusterView::set_private_slice(const ClusterName& name, ClusterSlice slice) {
  private_slices_.set(name, std::move(slice), changed_);
}

void ClusterView::drop_private_slice(const ClusterName& name) {
  private_slices_.drop(name, changed_);
}

void ClusterView::set_private_service(const ClusterName& name, PrivateService service) {
  private_services_.set(name, std::move(service), changed_);
}

void ClusterView::drop_private_service(const ClusterName& name) {
  private_services_.drop(name, changed_);
}

void ClusterView::set_public_slice(const ClusterName& name, ClusterSlice slice) {
  public_slices_.set(name, std::move(slice), fronts_changed_);
}

void ClusterView::drop_public_slice(const ClusterName& name) {
  public_slices_.drop(name, fronts_changed_);
}

void ClusterView::set_activator_slice(const ClusterName& name, ClusterSlice slice) {
  activator_slices_.insert_or_assign(name, std::move(slice));
}

void ClusterView::drop_activator_slice(const ClusterName& name) {
  activator_slices_.erase(name);
}

// One address may stand in two slices while it moves from one to the other.
std::vector<ReachablePod> ClusterView::knative_pods(const RevisionId& id,
                                                    const ServingSpec& spec) const {
  std::map<ClusterAddress, ReachablePod> pods;
  for (const ClusterSlice* slice : private_slices_.of(id)) {
    const std::uint16_t port = port_called(slice->ports, port_name(spec.h2c));
    if (port == 0) continue;
    for (const SliceEndpoint& endpoint : slice->endpoints) {
      const auto [found, is_new] = pods.try_emplace({endpoint.ip, port});
      ReachablePod& pod = found->second;
      pod.ready = pod.ready || endpoint.ready;
      pod.terminating = endpoint.terminating && (is_new || pod.terminating);
      if (!is_new) continue;
      pod.name = endpoint.pod.empty() ? endpoint.ip : endpoint.pod;
      pod.ip = endpoint.ip;
      pod.port = port;
      pod.fast_ready = spec.fast_ready;
    }
  }
  std::vector<ReachablePod> sorted;
  sorted.reserve(pods.size());
  for (auto& [address, pod] : pods) sorted.push_back(std::move(pod));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ReachablePod& a, const ReachablePod& b) { return a.name < b.name; });
  return sorted;
}

// That of a RequestScaler has one name for its port, whatever its protocol.
std::optional<ServiceAddress> ClusterView::service(const RevisionId& id, bool h2c) const {
  for (const PrivateService* service : private_services_.of(id)) {
    std::uint16_t port = port_called(service->ports, port_name(h2c));
    if (port == 0) port = port_called(service->ports, port_name(false));
    if (port == 0) continue;
    return ServiceAddress{service->ip, port, port_called(service->ports, "https")};
  }
  return std::nullopt;
}

std::optional<ClusterRevision> ClusterView::revision(const RevisionId& id) const {
  const auto fronts = fronts_.find(id);
  std::vector<std::string> activators;
  if (fronts != fronts_.end()) activators = fronts->second;
  if (const auto scaler = scalers_.find(id); scaler != scalers_.end()) {
    return ClusterRevision{id, scaler->second, selections_.pods(id), std::move(activators),
                           service(id, scaler->second.h2c)};
  }
  const auto knative = knatives_.find(id);
  if (knative == knatives_.end()) return std::nullopt;
  return ClusterRevision{id,
                         knative->second,
                         knative_pods(id, knative->second),
                         std::move(activators),
                         service(id, knative->second.h2c),
                         knative_contract_};
}

std::optional<std::vector<ClusterAddress>> ClusterView::settle_activators() {
  std::vector<ClusterAddress> activators;
  for (const auto& [name, slice] : activator_slices_) {
    const std::uint16_t port = port_called(slice.ports, port_name(false));
    if (port == 0) continue;
    for (const SliceEndpoint& endpoint : slice.endpoints) {
      if (endpoint.ready) activators.push_back({endpoint.ip, port});
    }
  }
  std::sort(activators.begin(), activators.end());
  activators.erase(std::unique(activators.begin(), activators.end()), activators.end());
  if (activators == activators_) return std::nullopt;
  activators_ = activators;
  return activators;
}

// Pods that come and go where a service leads to them make no news: only activators count.
void ClusterView::settle_fronts(bool all) {
  std::set<RevisionId> ids = std::exchange(fronts_changed_, {});
  if (all) public_slices_.touch_all(ids);
  for (const RevisionId& id : ids) {
    std::set<std::string> fronts;
    for (const ClusterSlice* slice : public_slices_.of(id)) {
      for (const SliceEndpoint& endpoint : slice->endpoints) {
        if (!endpoint.ready) continue;
        const auto known = std::lower_bound(activators_.begin(), activators_.end(),
                                            ClusterAddress{endpoint.ip, 0});
        if (known != activators_.end() && known->ip == endpoint.ip) fronts.insert(endpoint.ip);
      }
    }
    std::vector<std::string> now{fronts.begin(), fronts.end()};
    const auto before = fronts_.find(id);
    if (before == fronts_.end() ? now.empty() : before->second == now) continue;
    changed_.insert(id);
    if (now.empty()) {
      fronts_.erase(before);
    } else {
      fronts_.insert_or_assign(id, std::move(now));
    }
  }
}

ClusterView::Changes ClusterView::settle() {
  Changes changes;
  changes.activators = settle_activators();
  settle_fronts(changes.activators.has_value());
  changed_.merge(selections_.settle());
  for (const RevisionId& id : std::exchange(changed_, {})) {
    if (auto now = revision(id)) {
      told_.insert(id);
      changes.revisions.push_back(std::move(*now));
    } else if (told_.erase(id) > 0) {
      changes.gone.push_back(id);
    }
  }
  return changes;
}

}  // namespace sluice::activator
