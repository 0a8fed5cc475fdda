#include "platform/kubernetes/core/service_plan.h"

#include "common/kube/labels.h"
#include "common/ring/hash_ring.h"

#include <algorithm>
#include <array>

namespace sluice::autoscaler {
namespace {

constexpr std::size_t kServiceNameMax = 63;

bool is_owner(const kube::RequestScaler& scaler, const kube::Service& service) {
  return !scaler.uid.empty() && service.owner.uid == scaler.uid;
}

bool same_ports(const std::vector<kube::Service::Port>& a,
                const std::vector<kube::Service::Port>& b) {
  return a.size() == b.size() &&
         std::is_permutation(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.name == y.name && x.port == y.port && x.target_port == y.target_port &&
                  x.app_protocol == y.app_protocol && x.protocol == y.protocol;
         });
}

// Deletion: what was adopted goes back first, and only then the object may go.
void plan_ending(const ServiceView& view, ServicePlan& plan) {
  if (!has_finalizer(*view.scaler)) return;
  if (view.original && view.original->scaler == view.id.name) {
    plan.steps.push_back(ServiceStep::restore_front);
  } else if (!view.left_behind) {
    plan.steps.push_back(ServiceStep::remove_finalizer);
  }
}

bool plan_pods(const ServiceView& view, ServicePlan& plan) {
  if (view.workload == nullptr) return view.pods != nullptr;
  if (view.pods == nullptr) {
    plan.steps.push_back(ServiceStep::apply_pods);
    return false;
  }
  const std::string name = pods_name(view.id);
  if (!is_owner(*view.scaler, *view.pods)) {
    const auto label = view.pods->labels.find(kube::kScalerLabel);
    if (label == view.pods->labels.end() || label->second != view.id.name) {
      plan.trouble = Trouble{
          "ServiceContested",
          "the Service " + name + ", which would select the pods, belongs to something else",
          "delete or rename it, or give the RequestScaler another name"};
      return false;
    }
    // Of a scaler of that name that was deleted and made again.
    plan.steps.push_back(ServiceStep::apply_pods);
    return true;
  }
  const bool stands = view.pods->selector == pods_selector(*view.workload) &&
                      same_ports(view.pods->ports, {pods_port(*view.scaler)});
  if (!stands) plan.steps.push_back(ServiceStep::apply_pods);
  return true;
}

Trouble has_selector(const ServiceView& view) {
  return {
      "ServiceHasSelector",
      "the Service " + front_name(view.id, *view.scaler) +
          " selects pods itself, so requests bypass the activators and replicas are not lowered",
      "remove spec.selector in your own manifest of it, or set spec.service.adopt: true to have it "
      "taken over and restored on deletion"};
}

Trouble contested(const ServiceView& view, const std::string& by) {
  return {"ServiceContested", "the Service " + front_name(view.id, *view.scaler) + " " + by,
          "remove spec.selector where it is written (a GitOps tool applies its manifest again), or "
          "name another Service in spec.service.name"};
}

// Whether a Service with a selector may be taken over now. Its pods all have sidecars first, so
// that taking the selector away changes the way of no request for the worse.
std::optional<Trouble> not_yet(const ServiceView& view) {
  if (view.workload == nullptr) {
    return Trouble{"AdoptionWaits", "the target does not exist, so the Service stays as it is", "",
                   true};
  }
  const std::int32_t ready = view.workload->status_ready;
  if (view.injected_ready < ready || (ready == 0 && view.workload->replicas > 0)) {
    return Trouble{"AdoptionWaits",
                   "the Service is taken over once every ready pod has a sidecar: " +
                       std::to_string(view.injected_ready) + " of " + std::to_string(ready) +
                       " have",
                   "label the namespace or the pod template (sluice.dev/inject) and restart the "
                   "workload",
                   true};
  }
  return std::nullopt;
}

void plan_selected(const ServiceView& view, bool pods_stand, ServicePlan& plan) {
  const bool was_ours = view.original && view.original->scaler == view.id.name;
  plan.routes = view.has_slices;
  plan.passed_by = plan.passed_by || !view.has_slices;
  if (was_ours) {
    plan.adopted = true;
    plan.trouble = contested(view, "was taken over and has a selector again");
    return;
  }
  if (view.original) {
    plan.trouble = contested(view, "belongs to the RequestScaler " + view.original->scaler);
    return;
  }
  if (!view.scaler->service.adopt) {
    plan.trouble = has_selector(view);
    return;
  }
  if (!has_finalizer(*view.scaler)) plan.steps.push_back(ServiceStep::add_finalizer);
  if (plan.trouble) return;
  plan.trouble = not_yet(view);
  if (plan.trouble) return;
  plan.routes = true;
  const bool prepared = pods_stand && has_finalizer(*view.scaler) && view.has_slices;
  if (prepared && view.slices_stand) plan.steps.push_back(ServiceStep::adopt_front);
  plan.trouble = Trouble{"Adopting", "the Service is being taken over", "", true};
}

// Of spec.service.port: ports that it does not name lead straight to the pods, so if it names none
// all of them do.
bool lacks_port(const ServiceView& view, const std::vector<kube::Service::Port>& ports) {
  const std::string& chosen = view.scaler->service.port;
  return !chosen.empty() && std::none_of(ports.begin(), ports.end(), [&chosen](const auto& each) {
    return each.name == chosen;
  });
}

Trouble port_missing(const ServiceView& view) {
  return {"ServicePortMissing",
          "the Service " + front_name(view.id, *view.scaler) + " has no port named " +
              view.scaler->service.port,
          "name one of its ports in spec.service.port, or leave it out to route all ports"};
}

// Until the watch shows that the Service is there, with endpoints of ours if any are wanted. Later
// ones are rewritten as pods come and go, which is no news.
std::optional<Trouble> not_routed(const ServiceView& view) {
  if (view.front == nullptr) {
    const std::string name = front_name(view.id, *view.scaler);
    return Trouble{"Routing",
                   view.workload == nullptr
                       ? "the Service " + name + " is created once its target exists"
                       : "the Service " + name + " is being created",
                   "", true};
  }
  if (view.has_slices || view.slices_stand) return std::nullopt;
  return Trouble{"Routing", "the first endpoints of the Service are being written", "", true};
}

}  // namespace

std::string front_name(const RevisionId& id, const kube::RequestScaler& scaler) {
  return scaler.service.name.empty() ? id.name : scaler.service.name;
}

std::string pods_name(const RevisionId& id) {
  constexpr std::string_view kEnd = "-private";
  std::string name = id.name + std::string{kEnd};
  if (name.size() <= kServiceNameMax) return name;
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%08x",
                static_cast<unsigned>(ring::hash_of(id.name) & 0xffffffffU));
  const std::size_t kept = kServiceNameMax - kEnd.size() - 9;
  return id.name.substr(0, kept) + "-" + hash.data() + std::string{kEnd};
}

std::vector<kube::Service::Port> front_ports(const kube::RequestScaler& scaler,
                                             const kube::Workload& workload) {
  std::vector<kube::Service::Port> ports;
  const auto add = [&ports, &scaler](std::string name, std::uint16_t number) {
    kube::Service::Port port;
    port.name = std::move(name);
    port.port = number;
    port.target_port = kube::kQueuePort;
    if (scaler.protocol == "h2c") port.app_protocol = "kubernetes.io/h2c";
    ports.push_back(std::move(port));
  };
  for (const auto& port : scaler.service.ports) add(port.name, port.port);
  if (!ports.empty()) return ports;
  // Requests come over TCP.
  const auto takes_requests = [](const auto& port) { return port.protocol == "TCP"; };
  const bool only =
      std::count_if(workload.ports.begin(), workload.ports.end(), takes_requests) == 1;
  for (const auto& port : workload.ports) {
    if (port.name == kube::kQueuePort || !takes_requests(port)) continue;
    add(!port.name.empty() ? port.name
        : only             ? "http"
                           : "port-" + std::to_string(port.number),
        port.number);
  }
  if (ports.empty()) add("http", 80);
  return ports;
}

kube::StringMap pods_selector(const kube::Workload& workload) {
  // A Service cannot say expressions; the template's labels pick the same pods.
  kube::StringMap selector =
      workload.selector.expressions.empty() ? workload.selector.labels : workload.template_labels;
  selector.insert_or_assign(std::string{kube::kSidecarLabel}, "queue-proxy");
  return selector;
}

kube::Service::Port pods_port(const kube::RequestScaler& scaler) {
  kube::Service::Port port;
  port.name = "http";
  port.port = 80;
  port.target_port = kube::kQueuePort;
  if (scaler.protocol == "h2c") port.app_protocol = "kubernetes.io/h2c";
  return port;
}

bool has_finalizer(const kube::RequestScaler& scaler) {
  return std::find(scaler.finalizers.begin(), scaler.finalizers.end(), kFinalizer) !=
         scaler.finalizers.end();
}

ServicePlan plan_service(const ServiceView& view) {
  ServicePlan plan;
  if (view.scaler->terminating) {
    plan_ending(view, plan);
    return plan;
  }
  if (view.rival) {
    plan.trouble = contested(view, "belongs to the RequestScaler " + view.rival->name);
    return plan;
  }
  const bool pods_stand = plan_pods(view, plan);
  if (view.front == nullptr) {
    plan.routes = view.workload != nullptr || view.has_slices;
    if (view.workload != nullptr) plan.steps.push_back(ServiceStep::create_front);
    if (!plan.trouble) plan.trouble = not_routed(view);
    return plan;
  }
  if (view.front->type == "ExternalName") {
    plan.trouble =
        Trouble{"ServiceUnsupported", "the Service is of type ExternalName, which has no endpoints",
                "name another Service in spec.service.name"};
    return plan;
  }
  if (view.front->owner.kind == "RequestScaler" && view.front->owner.uid != view.scaler->uid) {
    plan.trouble = contested(view, "was created for the RequestScaler " + view.front->owner.name);
    return plan;
  }
  const bool made_by_us = is_owner(*view.scaler, *view.front) && view.workload != nullptr;
  plan.passed_by = lacks_port(view, view.front->ports);
  // One that we make may get the port by being corrected.
  if (plan.passed_by &&
      !(made_by_us && !lacks_port(view, front_ports(*view.scaler, *view.workload)))) {
    // Slices keep naming pods, or a renamed port would lead nowhere.
    plan.routes = view.front->selector.empty() || view.has_slices;
    plan.trouble = port_missing(view);
    return plan;
  }
  if (!view.front->selector.empty()) {
    plan_selected(view, pods_stand, plan);
    return plan;
  }
  plan.routes = true;
  if (view.original && view.original->scaler == view.id.name) {
    plan.adopted = true;
    if (!has_finalizer(*view.scaler)) plan.steps.push_back(ServiceStep::add_finalizer);
    plan.steps.push_back(ServiceStep::sweep_leftovers);
  } else if (made_by_us &&
             !same_ports(view.front->ports, front_ports(*view.scaler, *view.workload))) {
    plan.steps.push_back(ServiceStep::correct_front);
  }
  if (!plan.trouble) plan.trouble = not_routed(view);
  return plan;
}

}  // namespace sluice::autoscaler
