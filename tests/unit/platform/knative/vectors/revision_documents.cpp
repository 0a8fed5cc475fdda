#include "tests/unit/platform/knative/vectors/revision_documents.h"

#include "common/scaling/annotations.h"
#include "common/values/rfc3339.h"

#include "platform/knative/io/knative_json.h"
#include "platform/knative/io/knative_view.h"
#include "platform/kubernetes/io/documents.h"
#include <stdexcept>

namespace sluice::autoscaler::testing {
namespace {

using nlohmann::json;

const RevisionId kId{"shop", "web-00001"};

// Of something that was before every case began.
constexpr Duration kLongAgo = std::chrono::hours{24};

json condition_of(const std::string& type, const std::string& status, Duration lasts) {
  return {{"type", type},
          {"status", status},
          {"reason", "Before"},
          {"lastTransitionTime", rfc3339(kNow - lasts, Fraction::none)}};
}

std::string status_of_state(const std::string& state) {
  if (state == "active") return "True";
  if (state == "activating") return "Unknown";
  if (state == "inactive") return "False";
  throw std::runtime_error("unknown state " + state);
}

}  // namespace

RevisionDocuments::RevisionDocuments(const StringMap& annotations, const std::string& reachability,
                                     std::int32_t replicas) {
  const json target{
      {"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "web-00001-deployment"}};
  json all = annotations;
  all["autoscaling.knative.dev/class"] = "kpa.sluice.dev";
  pod_autoscaler = {
      {"metadata",
       {{"name", kId.name},
        {"namespace", kId.space},
        {"uid", "u1"},
        {"generation", 1},
        {"annotations", std::move(all)}}},
      {"spec",
       {{"reachability", reachability}, {"protocolType", "http1"}, {"scaleTargetRef", target}}},
      {"status",
       {{"observedGeneration", 1},
        {"serviceName", kId.name},
        {"metricsServiceName", kId.name + "-private"},
        {"conditions", json::array({condition_of("Active", "Unknown", kLongAgo),
                                    condition_of("ScaleTargetInitialized", "True", kLongAgo)})}}}};
  serverless = {
      {"metadata",
       {{"name", kId.name},
        {"uid", "u2"},
        {"generation", 1},
        {"ownerReferences", json::array({{{"kind", "PodAutoscaler"},
                                          {"name", kId.name},
                                          {"uid", "u1"},
                                          {"controller", true}}})}}},
      {"spec",
       {{"mode", "Proxy"}, {"numActivators", 2}, {"objectRef", target}, {"protocolType", "http1"}}},
      {"status",
       {{"observedGeneration", 1},
        {"serviceName", kId.name},
        {"privateServiceName", kId.name + "-private"},
        {"conditions", json::array({condition_of("Ready", "True", kLongAgo)})}}}};
  deployment = {{"metadata", {{"name", "web-00001-deployment"}, {"uid", "u3"}}},
                {"spec", {{"replicas", replicas}}}};
}

json& RevisionDocuments::status_condition(const std::string& type) {
  for (json& each : pod_autoscaler["status"]["conditions"]) {
    if (each["type"] == type) return each;
  }
  throw std::runtime_error("no condition " + type);
}

const json& RevisionDocuments::condition(const std::string& type) const {
  for (const json& each : pod_autoscaler["status"]["conditions"]) {
    if (each["type"] == type) return each;
  }
  throw std::runtime_error("no condition " + type);
}

void RevisionDocuments::set_active(const std::string& state, Duration lasts) {
  status_condition("Active") = condition_of("Active", status_of_state(state), lasts);
}

void RevisionDocuments::set_initialized(bool initialized) {
  status_condition("ScaleTargetInitialized")["status"] = initialized ? "True" : "Unknown";
}

void RevisionDocuments::set_desired(std::int32_t desired) {
  pod_autoscaler["status"]["desiredScale"] = desired;
}

void RevisionDocuments::without_services() {
  pod_autoscaler["status"].erase("serviceName");
  serverless["status"] = json::object();
}

void RevisionDocuments::set_mode(const std::string& mode, Duration proxied) {
  serverless["spec"]["mode"] = mode;
  if (mode != "Proxy" && proxied == Duration{0}) return;
  serverless["status"]["conditions"].push_back(
      condition_of("ActivatorEndpointsPopulated", "True", proxied));
}

std::string RevisionDocuments::state() const {
  const json& status = condition("Active")["status"];
  if (status == "True") return "active";
  return status == "False" ? "inactive" : "activating";
}

std::optional<std::int32_t> RevisionDocuments::shown_desired() const {
  const json& status = pod_autoscaler["status"];
  const auto found = status.find("desiredScale");
  if (found == status.end() || found->is_null()) return std::nullopt;
  return found->get<std::int32_t>();
}

std::string RevisionDocuments::mode() const {
  return serverless["spec"]["mode"].get<std::string>();
}

std::int32_t RevisionDocuments::replicas() const {
  return deployment["spec"]["replicas"].get<std::int32_t>();
}

model::Revision RevisionDocuments::watched() const {
  const auto object = decode_pod_autoscaler(pod_autoscaler.dump()).value();
  const auto service = decode_serverless(serverless.dump()).value();
  return watched_revision(kId, object, &service, {}, "cluster.local");
}

ScalingSpec RevisionDocuments::scaling(const ClusterConfig& config) const {
  const model::Revision revision = watched();
  StringMap annotations = revision.annotations;
  for (const AnnotationProblem& wrong : check_annotations(annotations, config)) {
    for (const std::string& key : wrong.keys) annotations.erase(key);
  }
  return resolve(config, annotations, revision.container_concurrency, revision.reachability);
}

Written RevisionDocuments::reconcile(const ClusterConfig& config,
                                     const std::optional<ScaleOrder>& order, std::int32_t ready) {
  const auto object = decode_pod_autoscaler(pod_autoscaler.dump()).value();
  const auto service = decode_serverless(serverless.dump()).value();
  const auto target = kube::decode_workload(deployment.dump()).value();
  PodAutoscalerSight sight;
  sight.object = &object;
  sight.serverless = &service;
  sight.target = &target;
  sight.order = order ? &*order : nullptr;
  sight.ready = ready;
  sight.scaling = scaling(config);

  Written written;
  const ServerlessWish wish = plan_serverless(sight);
  if (wish.step == ServerlessWish::Step::correct) {
    const auto request = correct_serverless_request(kId, object, service, wish);
    written.serverless = json::parse(request.body)["spec"];
    serverless["spec"] = *written.serverless;
  }
  if (const auto replicas = plan_target(sight)) {
    const auto request =
        scale_request(target_path(kId, object.target), target.uid, target.replicas, *replicas);
    written.replicas = json::parse(request.body)["spec"]["replicas"].get<std::int32_t>();
    deployment["spec"]["replicas"] = *written.replicas;
  }
  const PodAutoscaler::Status status = plan_status(sight, kNow);
  if (!(status == object.status)) {
    const auto request = pod_autoscaler_status_request(kId, object, status);
    written.status = json::parse(request.body)["status"];
    pod_autoscaler["status"] = *written.status;
  }
  return written;
}

}  // namespace sluice::autoscaler::testing
