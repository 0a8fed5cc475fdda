#include "platform/kubernetes/io/scaler_sight.h"

#include "common/scaling/annotations.h"
#include "common/values/whole_number.h"

#include "platform/kubernetes/io/watched_pod.h"
#include <algorithm>
#include <map>
#include <set>

namespace sluice::autoscaler {
namespace {

std::optional<Trouble> missing_target(const ScalerSight& sight) {
  const auto& wanted = sight.scaler->target;
  if (sight.target != nullptr) return std::nullopt;
  if (wanted.kind != "Deployment" && wanted.kind != "StatefulSet" && !wanted.kind.empty()) {
    return Trouble{"TargetKindUnsupported", "a " + wanted.kind + " cannot be scaled",
                   "name a Deployment or a StatefulSet in spec.targetRef"};
  }
  return Trouble{"TargetMissing",
                 "there is no " + (wanted.kind.empty() ? "Deployment" : wanted.kind) + " " +
                     wanted.name + " in the namespace " + sight.id.space,
                 "create it, or correct spec.targetRef"};
}

std::optional<Trouble> conflict_of(const ClusterView& view, const RevisionId& id) {
  if (const auto other = view.other_scaler(id)) {
    return Trouble{"TargetConflict",
                   "the " + *other + " scales the same target, so this one does not",
                   "delete it, or this RequestScaler"};
  }
  if (const auto rival = view.target_rival(id)) {
    return Trouble{"TargetConflict", "the RequestScaler " + rival->name + " scales the same target",
                   "delete one of the two"};
  }
  return std::nullopt;
}

// Of a port that leads to the pods as it did before: by number, or by the name of a container port.
std::uint16_t resolved(const kube::Service::Port& port, const kube::Workload* target) {
  if (port.target_port.empty()) return port.port;
  if (const auto number = whole_number<std::uint16_t>(port.target_port)) return *number;
  if (target == nullptr) return 0;
  const auto found =
      std::find_if(target->ports.begin(), target->ports.end(),
                   [&port](const auto& each) { return each.name == port.target_port; });
  return found == target->ports.end() ? std::uint16_t{0} : found->number;
}

}  // namespace

std::int32_t ScalerSight::injected_ready() const {
  return static_cast<std::int32_t>(std::count_if(pods.begin(), pods.end(), [](const auto& each) {
    return each.second->ready && !each.second->terminating && each.second->serving_port != 0;
  }));
}

ScalerSight look_at(const ClusterView& view, const RevisionId& id,
                    const kube::RequestScaler& scaler) {
  ScalerSight sight;
  sight.id = id;
  sight.scaler = &scaler;
  sight.target = view.target(id);
  sight.front = view.service({id.space, front_name(id, scaler)});
  sight.pods_service = view.service({id.space, pods_name(id)});
  if (sight.front != nullptr) sight.original = read_original(*sight.front);
  if (has_finalizer(scaler)) {
    for (const kube::ObjectName& name : view.adopted(id)) {
      const kube::Service* const service = view.service(name);
      if (service != nullptr && service != sight.front) {
        sight.left_behind.emplace_back(name, service);
      }
    }
  }
  sight.pods = view.pods(id);
  std::stable_sort(sight.pods.begin(), sight.pods.end(), [](const auto& a, const auto& b) {
    return a.second->created < b.second->created;
  });
  sight.slices = view.slices(id);
  sight.service_rival = view.service_rival(id);
  sight.target_trouble = missing_target(sight);
  sight.conflict = conflict_of(view, id);
  return sight;
}

model::Revision watched(const ScalerSight& sight) {
  model::Revision revision;
  revision.id = sight.id;
  revision.service = sight.front_name();
  const std::string host = revision.service + "." + sight.id.space;
  revision.hosts = {{host}, {host + ".svc"}};
  revision.container_concurrency = sight.scaler->container_concurrency;
  revision.annotations = sight.scaler->scaling;
  revision.chosen = sight.scaler->replicas;
  if (sight.target != nullptr) {
    const auto& target = sight.scaler->target;
    revision.target = (target.kind.empty() ? "Deployment" : target.kind) + "/" + target.name;
    revision.claim_memory = sight.target->claim_memory;
    revision.claim_cpu = sight.target->claim_cpu;
  }
  for (const auto& [name, pod] : sight.pods) {
    if (lives(*pod)) revision.pods.push_back(watched_pod(name, *pod, pod->serving_port));
  }
  return revision;
}

std::vector<ScalePod> scale_pods(const ScalerSight& sight) {
  std::vector<ScalePod> pods;
  for (const auto& [name, pod] : sight.pods) {
    if (lives(*pod)) pods.push_back({name, pod->terminating, pod->deletion_cost});
  }
  return pods;
}

std::optional<Trouble> sidecar_trouble(const ScalerSight& sight) {
  if (sight.target == nullptr) return std::nullopt;
  const std::int32_t injected = sight.injected_ready();
  if (sight.target->status_ready <= injected) return std::nullopt;
  if (!sight.pods.empty()) {
    // Old and new pods stand side by side, or one is on its way.
    return std::nullopt;
  }
  return Trouble{"SidecarMissing", "its pods have no sidecar, so their requests are not measured",
                 "kubectl label namespace " + sight.id.space +
                     " sluice.dev/inject=enabled (or label the pod template sluice.dev/inject: "
                     "\"true\"), then kubectl rollout restart the workload"};
}

std::optional<Trouble> settings_trouble(const ScalerSight& sight, const ClusterConfig& config) {
  const auto wrong = check_annotations(sight.scaler->scaling, config);
  if (wrong.empty()) return std::nullopt;
  const Problem& first = wrong.front().problem;
  return Trouble{"InvalidAnnotation", first.what + " and is ignored", first.fix};
}

std::vector<kube::Service::Port> front_ports_of(const ScalerSight& sight) {
  if (sight.front != nullptr) return sight.front->ports;
  if (sight.target != nullptr) return front_ports(*sight.scaler, *sight.target);
  return {};
}

std::vector<EndpointGroup> endpoint_groups(const ScalerSight& sight, const Route& route) {
  const std::string& chosen = sight.scaler->service.port;
  std::vector<kube::Service::Port> serving;
  std::vector<kube::EndpointSlice::Port> other;
  for (const auto& port : front_ports_of(sight)) {
    if (port.protocol == "TCP" && (chosen.empty() || port.name == chosen)) {
      serving.push_back(port);
    } else if (const std::uint16_t number = resolved(port, sight.target); number != 0) {
      other.push_back({port.name, number, port.app_protocol, port.protocol});
    }
  }
  const auto ports_to = [&serving](std::uint16_t number) {
    std::vector<kube::EndpointSlice::Port> ports;
    ports.reserve(serving.size());
    for (const auto& port : serving) ports.push_back({port.name, number, port.app_protocol});
    return ports;
  };

  std::vector<EndpointGroup> groups;
  if (route.mode == RouteMode::proxy && !serving.empty()) {
    EndpointGroup& group = groups.emplace_back();
    group.ports = ports_to(route.activator_port);
    for (const std::string& address : route.addresses) group.endpoints.push_back({address});
  }
  const std::set<std::string> routed(route.addresses.begin(), route.addresses.end());
  std::map<std::uint16_t, EndpointGroup> by_port;
  EndpointGroup straight;
  for (const auto& [name, pod] : sight.pods) {
    if (!pod->ready || pod->terminating || pod->ip.empty()) continue;
    RoutedEndpoint endpoint{pod->ip, name, pod->node};
    const auto dialled_at = dialled(pod->ip, pod->serving_port);
    if (route.mode == RouteMode::serve && !serving.empty() && dialled_at &&
        routed.contains(dialled_at->text())) {
      by_port[pod->serving_port].endpoints.push_back(endpoint);
    }
    straight.endpoints.push_back(std::move(endpoint));
  }
  for (auto& [port, group] : by_port) {
    group.ports = ports_to(port);
    groups.push_back(std::move(group));
  }
  if (!other.empty()) {
    straight.ports = std::move(other);
    groups.push_back(std::move(straight));
  }
  return groups;
}

}  // namespace sluice::autoscaler
