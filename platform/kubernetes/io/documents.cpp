#include "platform/kubernetes/io/documents.h"

#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/json/write.h"
#include "common/kube/labels.h"
#include "common/values/rfc3339.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

constexpr const char* kApiVersion = "autoscaling.sluice.dev/v1alpha1";
constexpr const char* kKind = "RequestScaler";
constexpr const char* kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";
constexpr std::size_t kOriginalBytesMax = 64 * 1024;
constexpr std::size_t kMessageMax = 1000;  // of an event: 1024 bytes are allowed

std::string core_path(const std::string& space, const char* kind) {
  return "/api/v1/namespaces/" + space + "/" + kind;
}

std::string slices_path(const std::string& space) {
  return "/apis/discovery.k8s.io/v1/namespaces/" + space + "/endpointslices";
}

kube::Request make(kube::Verb verb, std::string path, const json& body) {
  kube::Request request;
  request.verb = verb;
  request.path = std::move(path);
  if (!body.is_null()) request.body = json_line(body);
  return request;
}

json labels_of(const RevisionId& id) {
  return {{std::string{kube::kScalerLabel}, id.name},
          {"app.kubernetes.io/name", id.name},
          {"app.kubernetes.io/component", "routing"},
          {"app.kubernetes.io/part-of", "sluice"},
          {"app.kubernetes.io/managed-by", "sluice"}};
}

json owner_of(const ScalerRef& owner) {
  return json::array({{{"apiVersion", kApiVersion},
                       {"kind", kKind},
                       {"name", owner.id.name},
                       {"uid", owner.uid},
                       {"controller", true}}});
}

json owned_metadata(const ScalerRef& owner, const std::string& name, json labels) {
  return {{"name", name},
          {"namespace", owner.id.space},
          {"labels", std::move(labels)},
          {"ownerReferences", owner_of(owner)}};
}

json target_port(const std::string& text) {
  if (const auto number = whole_number<int>(text)) return *number;
  return text;
}

json port_json(const kube::Service::Port& port) {
  json one{{"name", port.name},
           {"port", port.port},
           {"protocol", port.protocol},
           {"targetPort", target_port(port.target_port)}};
  if (!port.app_protocol.empty()) one["appProtocol"] = port.app_protocol;
  return one;
}

json ports_json(const std::vector<kube::Service::Port>& ports) {
  json all = json::array();
  for (const auto& port : ports) all.push_back(port_json(port));
  return all;
}

json condition_json(const kube::Condition& condition) {
  return {{"type", condition.type},
          {"status", condition.status},
          {"reason", condition.reason},
          {"message", condition.message},
          {"lastTransitionTime", condition.last_transition_time},
          {"observedGeneration", condition.observed_generation}};
}

}  // namespace

std::string scaler_path(const RevisionId& id) {
  return "/apis/autoscaling.sluice.dev/v1alpha1/namespaces/" + id.space + "/requestscalers/" +
         id.name;
}

std::string workload_path(std::string_view kind, const kube::ObjectName& name) {
  const std::string apps = "/apis/apps/v1/namespaces/" + name.space + "/";
  if (kind == "Deployment") return apps + "deployments/" + name.name;
  if (kind == "StatefulSet") return apps + "statefulsets/" + name.name;
  return {};
}

std::string pod_path(const kube::ObjectName& name) {
  return core_path(name.space, "pods/") + name.name;
}

std::string service_path(const kube::ObjectName& name) {
  return core_path(name.space, "services/") + name.name;
}

std::string slice_path(const kube::ObjectName& name) {
  return slices_path(name.space) + "/" + name.name;
}

kube::Request scale_request(const std::string& workload, const std::string& uid, std::int32_t from,
                            std::int32_t to) {
  kube::Request request = make(kube::Verb::merge_patch, workload + "/scale",
                               {{"metadata", {{"uid", uid}}}, {"spec", {{"replicas", to}}}});
  if (from == 0) request.lane = kube::Lane::urgent;
  request.first = to > from;
  return request;
}

kube::Request cost_request(const kube::ObjectName& pod, std::optional<std::int32_t> cost) {
  const json value = cost ? json(std::to_string(*cost)) : json{};
  return make(kube::Verb::merge_patch, pod_path(pod),
              {{"metadata", {{"annotations", {{kDeletionCost, value}}}}}});
}

kube::Request apply_pods_request(const ScalerRef& owner, const std::string& name,
                                 const kube::StringMap& selector, const kube::Service::Port& port) {
  json labels = labels_of(owner.id);
  labels["sluice.dev/service-type"] = "private";
  // Not headless: behind a mesh its address may be the only way to the pods.
  return make(kube::Verb::apply_force, service_path({owner.id.space, name}),
              {{"apiVersion", "v1"},
               {"kind", "Service"},
               {"metadata", owned_metadata(owner, name, std::move(labels))},
               {"spec", {{"selector", selector}, {"ports", json::array({port_json(port)})}}}});
}

kube::Request create_front_request(const ScalerRef& owner, const std::string& name,
                                   const std::vector<kube::Service::Port>& ports) {
  json labels = labels_of(owner.id);
  labels["sluice.dev/service-type"] = "public";
  return make(kube::Verb::create, core_path(owner.id.space, "services"),
              {{"apiVersion", "v1"},
               {"kind", "Service"},
               {"metadata", owned_metadata(owner, name, std::move(labels))},
               {"spec", {{"type", "ClusterIP"}, {"ports", ports_json(ports)}}}});
}

kube::Request correct_front_request(const kube::ObjectName& name,
                                    const std::vector<kube::Service::Port>& ports) {
  return make(kube::Verb::merge_patch, service_path(name),
              {{"spec", {{"ports", ports_json(ports)}}}});
}

// With its version: what is kept in the annotation is what was there at that moment.
kube::Request adopt_front_request(const RevisionId& id, const std::string& name,
                                  const kube::Service& front) {
  json ports = json::array();
  for (const auto& port : front.ports) {
    ports.push_back({{"name", port.name}, {"port", port.port}, {"targetPort", port.target_port}});
  }
  const json original{{"scaler", id.name}, {"selector", front.selector}, {"ports", ports}};
  return make(kube::Verb::merge_patch, service_path({id.space, name}),
              {{"metadata",
                {{"resourceVersion", front.resource_version},
                 {"annotations", {{std::string{kOriginalService}, original.dump()}}}}},
               {"spec", {{"selector", json{}}}}});
}

kube::Request restore_front_request(const kube::ObjectName& name, const kube::Service& front,
                                    const OriginalService& original) {
  json steps = json::array();
  steps.push_back(
      {{"op", "test"}, {"path", "/metadata/resourceVersion"}, {"value", front.resource_version}});
  if (front.selector.empty()) {
    steps.push_back({{"op", "add"}, {"path", "/spec/selector"}, {"value", original.selector}});
    for (std::size_t i = 0; i < front.ports.size(); ++i) {
      for (const auto& before : original.ports) {
        if (before.name != front.ports[i].name || before.target == front.ports[i].target_port) {
          continue;
        }
        steps.push_back({{"op", "replace"},
                         {"path", "/spec/ports/" + std::to_string(i) + "/targetPort"},
                         {"value", target_port(before.target)}});
      }
    }
  }
  steps.push_back(
      {{"op", "remove"}, {"path", "/metadata/annotations/sluice.dev~1original-service"}});
  return make(kube::Verb::json_patch, service_path(name), steps);
}

kube::Request sweep_slices_request(const kube::ObjectName& front) {
  // A label selector in a query: '=' and ',' stand escaped.
  return make(kube::Verb::remove,
              slices_path(front.space) + "?labelSelector=kubernetes.io%2Fservice-name%3D" +
                  front.name +
                  "%2Cendpointslice.kubernetes.io%2Fmanaged-by%3D"
                  "endpointslice-controller.k8s.io",
              {});
}

kube::Request sweep_endpoints_request(const kube::ObjectName& front) {
  return make(kube::Verb::remove, core_path(front.space, "endpoints/") + front.name, {});
}

// Applied, since finalizers are a set in which others have theirs. The uid keeps it from making a
// scaler that has just gone.
kube::Request finalizer_request(const ScalerRef& scaler, bool there) {
  json metadata{{"name", scaler.id.name}, {"namespace", scaler.id.space}, {"uid", scaler.uid}};
  if (there) metadata["finalizers"] = json::array({std::string{kFinalizer}});
  return make(kube::Verb::apply_force, scaler_path(scaler.id),
              {{"apiVersion", kApiVersion}, {"kind", kKind}, {"metadata", std::move(metadata)}});
}

kube::StringMap slice_labels(const RevisionId& id, const std::string& front) {
  return {{"kubernetes.io/service-name", front},
          {"endpointslice.kubernetes.io/managed-by", "sluice.dev"},
          {std::string{kube::kScalerLabel}, id.name}};
}

kube::Request apply_slice_request(const ScalerRef& owner, const std::string& front,
                                  const RoutedSlice& slice) {
  json labels = labels_of(owner.id);
  for (const auto& [key, value] : slice_labels(owner.id, front)) labels[key] = value;
  json endpoints = json::array();
  for (const RoutedEndpoint& endpoint : slice.endpoints) {
    json one{{"addresses", json::array({endpoint.address})},
             {"conditions", {{"ready", true}, {"serving", true}, {"terminating", false}}}};
    if (!endpoint.node.empty()) one["nodeName"] = endpoint.node;
    if (!endpoint.pod.empty()) {
      one["targetRef"] = {{"kind", "Pod"}, {"namespace", owner.id.space}, {"name", endpoint.pod}};
    }
    endpoints.push_back(std::move(one));
  }
  json ports = json::array();
  for (const auto& port : slice.ports) {
    json one{{"name", port.name}, {"port", port.port}, {"protocol", port.protocol}};
    if (!port.app_protocol.empty()) one["appProtocol"] = port.app_protocol;
    ports.push_back(std::move(one));
  }
  return make(kube::Verb::apply_force, slice_path({owner.id.space, slice.name}),
              {{"apiVersion", "discovery.k8s.io/v1"},
               {"kind", "EndpointSlice"},
               {"metadata", owned_metadata(owner, slice.name, std::move(labels))},
               {"addressType", slice.address_type},
               {"endpoints", std::move(endpoints)},
               {"ports", std::move(ports)}});
}

kube::Request remove_request(const std::string& path) {
  return make(kube::Verb::remove, path, {});
}

kube::Request status_request(const ScalerRef& scaler, const ScalerStatus& status) {
  json conditions = json::array();
  for (const auto& condition : status.values.conditions) {
    conditions.push_back(condition_json(condition));
  }
  json values{{"observedGeneration", status.values.observed_generation},
              {"conditions", std::move(conditions)}};
  const auto number = [&values](const char* key, std::int32_t value, std::int32_t least) {
    values[key] = value < least ? json{} : json(value);
  };
  number("desired", status.values.desired, 0);
  number("granted", status.values.granted, 0);
  number("ready", status.values.ready, 0);
  number("activatorPort", status.values.activator_port, 1);
  if (!status.selector.empty()) values["selector"] = status.selector;
  return make(kube::Verb::merge_patch, scaler_path(scaler.id) + "/status",
              {{"metadata", {{"uid", scaler.uid}}}, {"status", std::move(values)}});
}

kube::Request event_request(const ScalerEvent& event, const std::string& reporter) {
  const std::string time = rfc3339(event.last, Fraction::none);
  // Unique: its reporter tells at most one in a second.
  const auto stamp = std::to_string(event.last.time_since_epoch().count());
  return make(
      kube::Verb::create, core_path(event.scaler.space, "events"),
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata", {{"name", event.scaler.name + "." + stamp}, {"namespace", event.scaler.space}}},
       {"involvedObject",
        {{"apiVersion", kApiVersion},
         {"kind", kKind},
         {"namespace", event.scaler.space},
         {"name", event.scaler.name},
         {"uid", event.uid}}},
       {"type", event.warning ? "Warning" : "Normal"},
       {"reason", event.reason},
       {"message", event.message.substr(0, kMessageMax)},
       {"count", event.count},
       {"firstTimestamp", rfc3339(event.first, Fraction::none)},
       {"lastTimestamp", time},
       {"source", {{"component", "sluice-autoscaler"}}},
       {"reportingComponent", "sluice.dev/autoscaler"},
       {"reportingInstance", reporter}});
}

std::optional<OriginalService> read_original(const kube::Service& front) {
  const auto found = front.annotations.find(kOriginalService);
  if (found == front.annotations.end() || found->second.size() > kOriginalBytesMax) {
    return std::nullopt;
  }
  const json read = reading::parsed(found->second);
  if (!reading::member(read, "scaler").is_string()) return std::nullopt;
  OriginalService original;
  original.scaler = reading::text(read, "scaler");
  original.selector = reading::string_map(read, "selector");
  for (const json& port : reading::array(read, "ports")) {
    const std::uint16_t number = reading::port(port, "port");
    if (number == 0 || !reading::member(port, "targetPort").is_string()) continue;
    original.ports.push_back(
        {reading::text(port, "name"), number, reading::text(port, "targetPort")});
  }
  return original;
}

}  // namespace sluice::autoscaler
