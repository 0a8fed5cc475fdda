#include "platform/knative/io/knative_json.h"

#include "common/json/write.h"
#include "common/kube/json_read.h"
#include "common/scaling/cluster_config.h"
#include "common/values/rfc3339.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

constexpr const char* kPodAutoscalerVersion = "autoscaling.internal.knative.dev/v1alpha1";
constexpr const char* kServerlessVersion = "networking.internal.knative.dev/v1alpha1";

// What kubectl keeps on objects that it applied: of the owner, not of what we make.
constexpr std::string_view kApplied = "kubectl.kubernetes.io/last-applied-configuration";

KnativeTarget target_of(const json& reference) {
  return {reading::text(reference, "apiVersion"), reading::text(reference, "kind"),
          reading::text(reference, "name")};
}

json target_json(const KnativeTarget& target) {
  return {{"apiVersion", target.api_version}, {"kind", target.kind}, {"name", target.name}};
}

Reachability reachability_of(const std::string& text) {
  if (text == "Reachable") return Reachability::reachable;
  if (text == "Unreachable") return Reachability::unreachable;
  return Reachability::unknown;
}

std::optional<std::int32_t> number(const json& object, const char* key) {
  if (!reading::member(object, key).is_number_integer()) return std::nullopt;
  return reading::integer32(object, key, 0);
}

json condition_json(const kube::Condition& condition) {
  json one{{"type", condition.type},
           {"status", condition.status},
           {"lastTransitionTime", condition.last_transition_time}};
  if (!condition.reason.empty()) one["reason"] = condition.reason;
  if (!condition.message.empty()) one["message"] = condition.message;
  return one;
}

json serverless_spec(const PodAutoscaler& owner, const ServerlessWish& wish) {
  json spec{{"mode", wish.mode == RouteMode::serve ? "Serve" : "Proxy"},
            {"numActivators", wish.activators},
            {"objectRef", target_json(owner.target)}};
  if (!owner.protocol.empty()) spec["protocolType"] = owner.protocol;
  return spec;
}

kube::Request make(kube::Verb verb, std::string path, const json& body) {
  kube::Request request;
  request.verb = verb;
  request.path = std::move(path);
  request.body = json_line(body);
  return request;
}

std::string path_in(std::string_view group, const RevisionId& id, const char* plural) {
  return std::string{group} + "/namespaces/" + id.space + "/" + plural;
}

}  // namespace

std::optional<PodAutoscaler> decode_pod_autoscaler(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& metadata = reading::member(document, "metadata");
  const json& spec = reading::member(document, "spec");
  const json& status = reading::member(document, "status");
  PodAutoscaler object;
  object.uid = reading::text(metadata, "uid");
  object.generation = reading::whole(metadata, "generation").value_or(0);
  object.terminating = kube::is_terminating(metadata);
  object.labels = reading::string_map(metadata, "labels");
  object.annotations = reading::string_map(metadata, "annotations");
  object.annotations.erase(std::string{kApplied});
  object.target = target_of(reading::member(spec, "scaleTargetRef"));
  object.container_concurrency = reading::integer32(spec, "containerConcurrency", 0);
  object.protocol = reading::text(spec, "protocolType");
  object.reachability = reachability_of(reading::text(spec, "reachability"));
  object.status.observed_generation = reading::whole(status, "observedGeneration").value_or(0);
  object.status.service_name = reading::text(status, "serviceName");
  object.status.metrics_service_name = reading::text(status, "metricsServiceName");
  object.status.desired = number(status, "desiredScale");
  object.status.actual = number(status, "actualScale");
  object.status.conditions = kube::conditions(status);
  return object;
}

std::optional<ServerlessObject> decode_serverless(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& metadata = reading::member(document, "metadata");
  const json& spec = reading::member(document, "spec");
  const json& status = reading::member(document, "status");
  ServerlessObject object;
  object.uid = reading::text(metadata, "uid");
  object.generation = reading::whole(metadata, "generation").value_or(0);
  object.owner = kube::controller_of(metadata);
  object.mode = reading::text(spec, "mode");
  object.activators = reading::integer32(spec, "numActivators", 0);
  object.target = target_of(reading::member(spec, "objectRef"));
  object.protocol = reading::text(spec, "protocolType");
  object.observed_generation = reading::whole(status, "observedGeneration").value_or(0);
  object.service_name = reading::text(status, "serviceName");
  object.private_name = reading::text(status, "privateServiceName");
  object.ready = reading::text(kube::condition(status, "Ready"), "status") == "True";
  const json& proxied = kube::condition(status, "ActivatorEndpointsPopulated");
  if (reading::text(proxied, "status") == "True") {
    object.proxied_since = parse_rfc3339(reading::text(proxied, "lastTransitionTime"));
  }
  return object;
}

std::string pod_autoscaler_path(const RevisionId& id) {
  return path_in(kPodAutoscalerGroup, id, "podautoscalers/") + id.name;
}

std::string serverless_path(const RevisionId& id) {
  return path_in(kServerlessGroup, id, "serverlessservices/") + id.name;
}

// Of Knative's class whatever its owner's class is: Knative's autoscaler watches only that class
// once the revision is its own, and corrects no annotation. Before that, it leaves the object to
// the owner's class.
kube::Request create_serverless_request(const RevisionId& id, const PodAutoscaler& owner,
                                        const ServerlessWish& wish) {
  kube::StringMap annotations = owner.annotations;
  annotations.insert_or_assign(std::string{kClassAnnotation}, kKnativeClass);
  const json reference{{"apiVersion", kPodAutoscalerVersion},
                       {"kind", "PodAutoscaler"},
                       {"name", id.name},
                       {"uid", owner.uid},
                       {"controller", true},
                       {"blockOwnerDeletion", true}};
  return make(kube::Verb::create, path_in(kServerlessGroup, id, "serverlessservices"),
              {{"apiVersion", kServerlessVersion},
               {"kind", "ServerlessService"},
               {"metadata",
                {{"name", id.name},
                 {"namespace", id.space},
                 {"labels", owner.labels},
                 {"annotations", annotations},
                 {"ownerReferences", json::array({reference})}}},
               {"spec", serverless_spec(owner, wish)}});
}

kube::Request correct_serverless_request(const RevisionId& id, const PodAutoscaler& owner,
                                         const ServerlessObject& present,
                                         const ServerlessWish& wish) {
  return make(kube::Verb::merge_patch, serverless_path(id),
              {{"metadata", {{"uid", present.uid}}}, {"spec", serverless_spec(owner, wish)}});
}

kube::Request pod_autoscaler_status_request(const RevisionId& id, const PodAutoscaler& object,
                                            const PodAutoscaler::Status& status) {
  json conditions = json::array();
  for (const kube::Condition& condition : status.conditions) {
    conditions.push_back(condition_json(condition));
  }
  const auto count = [](std::optional<std::int32_t> value) {
    return value ? json(*value) : json{};
  };
  return make(kube::Verb::merge_patch, pod_autoscaler_path(id) + "/status",
              {{"metadata", {{"uid", object.uid}}},
               {"status",
                {{"observedGeneration", status.observed_generation},
                 {"serviceName", status.service_name},
                 {"metricsServiceName", status.metrics_service_name},
                 {"desiredScale", count(status.desired)},
                 {"actualScale", count(status.actual)},
                 {"conditions", std::move(conditions)}}}});
}

}  // namespace sluice::autoscaler
