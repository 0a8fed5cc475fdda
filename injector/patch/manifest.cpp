#include "injector/patch/manifest.h"

#include "common/kube/labels.h"
#include "common/values/whole_number.h"

#include <nlohmann/json.hpp>

#include "injector/patch/names.h"
#include <algorithm>
#include <initializer_list>
#include <utility>

namespace sluice::injector {
namespace {

/// An object of a stream: a document, or an item of one that is a List.
struct Object {
  std::size_t document = 0;
  Json* json = nullptr;  // of the documents, whose lists do not change meanwhile
  std::string kind;
  std::string space;
  std::string name;

  [[nodiscard]] std::string title() const { return kind + " " + name; }
};

Object object_of(std::size_t document, Json& json) {
  const Json& metadata = member(json, "metadata");
  return {document, &json, text(json, "kind"), text(metadata, "namespace"), text(metadata, "name")};
}

std::vector<Object> objects_in(std::vector<Json>& documents) {
  std::vector<Object> objects;
  for (std::size_t at = 0; at < documents.size(); ++at) {
    Json& document = documents[at];
    if (!document.is_object()) continue;
    const bool list =
        text(document, "kind").ends_with("List") && member(document, "items").is_array();
    if (!list) {
      objects.push_back(object_of(at, document));
      continue;
    }
    for (Json& item : document["items"]) {
      if (item.is_object()) objects.push_back(object_of(at, item));
    }
  }
  return objects;
}

// The pod template of a workload of one of those kinds; null: it is none.
Json* template_of(const Object& object, std::initializer_list<std::string_view> kinds) {
  const bool workload = std::find(kinds.begin(), kinds.end(), object.kind) != kinds.end();
  if (!workload || !member(member(*object.json, "spec"), "template").is_object()) return nullptr;
  return &(*object.json)["spec"]["template"];
}

// What may be injected; a Pod is its own template.
Json* template_of(const Object& object) {
  if (object.kind == "Pod") return object.json;
  return template_of(object, {"Deployment", "StatefulSet", "ReplicaSet"});
}

// What a Service may lead to: more kinds than those that are injected.
const Json* selectable_template(const Object& object) {
  const Json* pod = template_of(object);
  return pod != nullptr ? pod : template_of(object, {"DaemonSet", "ReplicationController"});
}

std::string or_else(std::string text, const std::string& otherwise) {
  return text.empty() ? otherwise : text;
}

std::optional<ScalerFacts> scaler_of(const Object& workload, const std::vector<Object>& objects) {
  for (const Object& object : objects) {
    const Json& spec = member(*object.json, "spec");
    const Json& target = member(spec, "targetRef");
    const bool ours = object.kind == "RequestScaler" && object.space == workload.space &&
                      text(target, "name") == workload.name &&
                      or_else(text(target, "kind"), "Deployment") == workload.kind;
    if (!ours) continue;
    const auto number = [&](const char* key, long usual) {
      return std::max(0L, whole(spec, key).value_or(usual));
    };
    const auto texts = [&](const char* key) {
      std::vector<std::string> list;
      for (const Json& one : array(member(spec, "ignore"), key)) {
        if (one.is_string()) list.push_back(one.get<std::string>());
      }
      return list;
    };
    return ScalerFacts{.name = object.name,
                       .service = or_else(text(member(spec, "service"), "name"), object.name),
                       .container_concurrency = number("containerConcurrency", 0),
                       .timeout_seconds = number("timeoutSeconds", 300),
                       .response_start_timeout_seconds = number("responseStartTimeoutSeconds", 0),
                       .idle_timeout_seconds = number("idleTimeoutSeconds", 0),
                       .ignore_paths = texts("paths"),
                       .ignore_user_agents = texts("userAgents")};
  }
  return std::nullopt;
}

bool selects(const Json& selector, const Json& labels) {
  if (!selector.is_object() || selector.empty()) return false;
  return std::all_of(selector.items().begin(), selector.items().end(), [&](const auto& pair) {
    return pair.value().is_string() && member(labels, pair.key()) == pair.value();
  });
}

// The number of the app's port, as the sidecar of an injected template has it; 0: unknown.
long app_port_of(const Json& pod) {
  const Json& spec = member(pod, "spec");
  for (const char* list : {"initContainers", "containers"}) {
    const Json* sidecar = named(array(spec, list), kContainer);
    if (sidecar == nullptr) continue;
    const Json* port = named(array(*sidecar, "env"), "USER_PORT");
    return port == nullptr ? 0 : whole_number<long>(text(*port, "value"), 1, 65'535).value_or(0);
  }
  return 0;
}

// Whether requests for `port` of a Service end at the app.
bool leads_to_app(const Json& port, const Json& pod, long app_port) {
  const std::string protocol = text(port, "protocol");
  if (!protocol.empty() && protocol != "TCP") return false;
  const Json& target = member(port, "targetPort");
  if (target.is_null()) return whole(port, "port") == app_port;
  if (target.is_number_integer()) return whole(port, "targetPort") == app_port;
  for (const Json& container : array(member(pod, "spec"), "containers")) {
    const Json* found = named(array(container, "ports"), text(port, "targetPort"));
    if (found != nullptr) return whole(*found, "containerPort") == app_port;
  }
  return false;
}

std::string port_key(const Json& port) {
  return std::to_string(whole(port, "port").value_or(0));
}

// What is written down of the ports that were turned before.
Json earlier_targets(const Json& service) {
  const auto written =
      parse_json(text(member(member(service, "metadata"), "annotations"), kTargetPorts));
  return written && written->is_object() ? *written : Json::object();
}

// Turns the ports of a Service to the sidecar; whether there were any.
bool turn_service(Json& service, const Json& pod) {
  const long app_port = app_port_of(pod);
  Json originals = earlier_targets(service);
  bool turned = false;
  if (app_port == 0 || array(service["spec"], "ports").empty()) return false;
  for (Json& port : service["spec"]["ports"]) {
    if (!port.is_object() || !leads_to_app(port, pod, app_port)) continue;
    originals[port_key(port)] =
        port.contains("targetPort") ? Json::array({port["targetPort"]}) : Json::array();
    port["targetPort"] = kube::kQueuePort;
    turned = true;
  }
  if (!turned) return false;
  Json& metadata = service["metadata"];
  if (!member(metadata, "annotations").is_object()) metadata["annotations"] = Json::object();
  metadata["annotations"][std::string{kTargetPorts}] = originals.dump();
  return true;
}

bool turn_back(Json& service) {
  if (!member(member(service, "metadata"), "annotations").is_object()) return false;
  Json& metadata = service["metadata"];
  Json& annotations = metadata["annotations"];
  const auto originals = parse_json(text(annotations, kTargetPorts));
  if (!originals || !originals->is_object()) return false;
  annotations.erase(std::string{kTargetPorts});
  if (annotations.empty()) metadata.erase("annotations");
  if (array(member(service, "spec"), "ports").empty()) return true;
  for (Json& port : service["spec"]["ports"]) {
    const Json& was = member(*originals, port_key(port));
    if (!was.is_array() || text(port, "targetPort") != kube::kQueuePort) continue;
    if (was.empty()) {
      port.erase("targetPort");
    } else {
      port["targetPort"] = was.front();
    }
  }
  return true;
}

void turn_services(const std::vector<Object>& objects, ManifestChange& change) {
  for (const Object& service : objects) {
    if (service.kind != "Service" || !member(*service.json, "metadata").is_object()) continue;
    const Json& selector = member(member(*service.json, "spec"), "selector");
    Json turned = *service.json;
    bool some = false;
    bool mixed = false;
    for (const Object& workload : objects) {
      const Json* pod = selectable_template(workload);
      if (pod == nullptr || service.space != workload.space) continue;
      if (!selects(selector, member(member(*pod, "metadata"), "labels"))) continue;
      if (is_injected(*pod)) {
        some = turn_service(turned, *pod) || some;
      } else {
        mixed = true;
      }
    }
    if (!some) continue;
    if (mixed) {
      // Those have no port of the sidecar's name and would drop out of the Service.
      change.notes.push_back(service.title() +
                             " is unchanged: it also selects pods without a sidecar");
      continue;
    }
    *service.json = std::move(turned);
    change.changed.insert(service.document);
  }
}

}  // namespace

Result<ManifestChange, Problem> inject_manifest(std::vector<Json>& documents,
                                                const InjectionSettings& settings, bool services) {
  ManifestChange change;
  const std::vector<Object> objects = objects_in(documents);
  for (const Object& object : objects) {
    Json* pod = template_of(object);
    if (pod == nullptr) continue;
    const PodOwner owner{.name = object.name, .scaler = scaler_of(object, objects)};
    const Verdict verdict = inject(*pod, owner, settings);
    switch (verdict.kind) {
      case Verdict::Kind::patched:
        change.changed.insert(object.document);
        break;
      case Verdict::Kind::skipped:
        change.notes.push_back(object.title() + " is unchanged: " + verdict.why.what);
        break;
      case Verdict::Kind::refused:
        return Problem{object.title() + ": " + verdict.why.what, verdict.why.fix};
    }
  }
  if (services) turn_services(objects, change);
  return change;
}

ManifestChange restore_manifest(std::vector<Json>& documents) {
  ManifestChange change;
  for (const Object& object : objects_in(documents)) {
    Json* pod = template_of(object);
    const bool restored = pod != nullptr             ? restore(*pod)
                          : object.kind == "Service" ? turn_back(*object.json)
                                                     : false;
    if (restored) change.changed.insert(object.document);
  }
  return change;
}

}  // namespace sluice::injector
