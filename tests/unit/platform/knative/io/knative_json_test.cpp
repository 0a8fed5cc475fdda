#include "platform/knative/io/knative_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform/knative/io/knative_view.h"
#include "platform/knative/io/public_probe.h"

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

const RevisionId kId{"shop", "web-00001"};
const std::string kDomain = "cluster.local";

const char* const kObject = R"({
  "metadata": {"name": "web-00001", "namespace": "shop", "uid": "u1", "generation": 2,
    "labels": {"serving.knative.dev/revision": "web-00001", "serving.knative.dev/service": "web"},
    "annotations": {"autoscaling.knative.dev/class": "kpa.sluice.dev",
                    "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
  "spec": {"containerConcurrency": 5, "protocolType": "h2c", "reachability": "Unreachable",
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web-00001-deployment"}},
  "status": {"desiredScale": 0, "serviceName": "web-00001", "observedGeneration": 1,
    "conditions": [{"type": "Active", "status": "False", "reason": "NoTraffic",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})";

const char* const kServerless = R"({
  "metadata": {"name": "web-00001", "namespace": "shop", "uid": "u2", "generation": 4,
    "ownerReferences": [{"kind": "PodAutoscaler", "name": "web-00001", "uid": "u1",
                         "controller": true}]},
  "spec": {"mode": "Serve", "numActivators": 3, "protocolType": "h2c",
    "objectRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web-00001-deployment"}},
  "status": {"observedGeneration": 4, "serviceName": "web-00001",
    "privateServiceName": "web-00001-private",
    "conditions": [{"type": "Ready", "status": "True"},
                   {"type": "ActivatorEndpointsPopulated", "status": "True",
                    "lastTransitionTime": "2026-01-01T00:01:00Z"}]}})";

TEST(KnativeJson, ReadsAPodAutoscaler) {
  const auto object = decode_pod_autoscaler(kObject);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->uid, "u1");
  EXPECT_EQ(object->generation, 2);
  EXPECT_EQ(object->container_concurrency, 5);
  EXPECT_EQ(object->protocol, "h2c");
  EXPECT_EQ(object->reachability, Reachability::unreachable);
  EXPECT_EQ(object->target.name, "web-00001-deployment");
  EXPECT_EQ(object->annotations.size(), 1U);
  EXPECT_EQ(object->status.desired, 0);
  EXPECT_EQ(object->status.actual, std::nullopt);
  EXPECT_EQ(object->status.conditions.at(0).reason, "NoTraffic");
  EXPECT_FALSE(decode_pod_autoscaler("[]"));
}

TEST(KnativeJson, ReadsAServerlessService) {
  const auto object = decode_serverless(kServerless);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->owner.uid, "u1");
  EXPECT_EQ(object->mode, "Serve");
  EXPECT_EQ(object->activators, 3);
  EXPECT_EQ(object->private_name, "web-00001-private");
  EXPECT_TRUE(object->ready);
  EXPECT_EQ(object->proxied_since, TimePoint{std::chrono::seconds{1'767'225'660}});
}

TEST(KnativeJson, AServerlessServiceIsMadeAsItsOwnersChild) {
  const auto request = create_serverless_request(kId, *decode_pod_autoscaler(kObject), {});
  EXPECT_EQ(request.verb, kube::Verb::create);
  EXPECT_EQ(request.path,
            "/apis/networking.internal.knative.dev/v1alpha1/namespaces/shop/serverlessservices");
  const json body = json::parse(request.body);
  EXPECT_EQ(body["metadata"]["name"], "web-00001");
  EXPECT_EQ(body["metadata"]["labels"]["serving.knative.dev/service"], "web");
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["uid"], "u1");
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["controller"], true);
  EXPECT_EQ(body["spec"]["mode"], "Proxy");
  EXPECT_EQ(body["spec"]["numActivators"], 2);
  EXPECT_EQ(body["spec"]["protocolType"], "h2c");
  EXPECT_EQ(body["spec"]["objectRef"]["kind"], "Deployment");
}

TEST(KnativeJson, AServerlessServiceHasTheClassThatKnativesAutoscalerFollows) {
  const auto request = create_serverless_request(kId, *decode_pod_autoscaler(kObject), {});
  EXPECT_EQ(json::parse(request.body)["metadata"]["annotations"]["autoscaling.knative.dev/class"],
            "kpa.autoscaling.knative.dev");
}

TEST(KnativeJson, ACorrectionNamesTheObjectThatWasRead) {
  const ServerlessWish wish{ServerlessWish::Step::correct, RouteMode::serve, 5};
  const auto request = correct_serverless_request(kId, *decode_pod_autoscaler(kObject),
                                                  *decode_serverless(kServerless), wish);
  const json body = json::parse(request.body);
  EXPECT_EQ(request.verb, kube::Verb::merge_patch);
  EXPECT_EQ(body["metadata"]["uid"], "u2");
  EXPECT_EQ(body["spec"]["mode"], "Serve");
  EXPECT_EQ(body["spec"]["numActivators"], 5);
}

TEST(KnativeJson, AStatusIsReadAsItWasWritten) {
  const auto object = decode_pod_autoscaler(kObject);
  PodAutoscaler::Status status = object->status;
  status.actual = 3;
  status.metrics_service_name = "web-00001-private";
  const auto request = pod_autoscaler_status_request(kId, *object, status);
  EXPECT_TRUE(request.path.ends_with("/namespaces/shop/podautoscalers/web-00001/status"));

  json written = json::parse(kObject);
  written.merge_patch(json::parse(request.body));
  EXPECT_EQ(decode_pod_autoscaler(written.dump())->status, status);
}

TEST(KnativeJson, WritesUnknownNamesAsEmptyBecauseTheKindRequiresThem) {
  const auto request = pod_autoscaler_status_request(kId, *decode_pod_autoscaler(kObject), {});
  const json told = json::parse(request.body).at("status");
  EXPECT_EQ(told.at("serviceName"), "");
  EXPECT_EQ(told.at("metricsServiceName"), "");
}

TEST(KnativeRevision, IsReachedAtItsSidecars) {
  kube::Pod pod;
  pod.ip = "10.0.0.7";
  pod.phase = "Running";
  pod.ready = true;
  kube::Pod ended;
  ended.phase = "Succeeded";
  const auto object = decode_pod_autoscaler(kObject);
  const auto serverless = decode_serverless(kServerless);
  const auto revision =
      watched_revision(kId, *object, &*serverless, {{"web-a", &pod}, {"web-b", &ended}}, kDomain);

  ASSERT_EQ(revision.pods.size(), 1U);
  EXPECT_EQ(revision.pods[0].address->text(), "10.0.0.7:8013");
  EXPECT_EQ(revision.pods[0].stats->text(), "10.0.0.7:9090");
  EXPECT_EQ(revision.service, "web");
  EXPECT_EQ(revision.hosts[0].host, "web-00001.shop");
  EXPECT_EQ(revision.reachability, Reachability::unreachable);
  EXPECT_EQ(revision.proxied_since, serverless->proxied_since);
}

TEST(KnativeRevision, AnswersToNamesInTheDomainOfItsCluster) {
  const auto revision =
      watched_revision(kId, *decode_pod_autoscaler(kObject), nullptr, {}, "corp.example");
  EXPECT_EQ(revision.hosts,
            (std::vector<model::HostRule>{
                {"web-00001.shop"}, {"web-00001.shop.svc"}, {"web-00001.shop.svc.corp.example"}}));
}

TEST(KnativeRevision, IsNotProxiedBeforeKnativeReportsIt) {
  const auto revision =
      watched_revision(kId, *decode_pod_autoscaler(kObject), nullptr, {}, kDomain);
  EXPECT_EQ(revision.proxied_since, std::nullopt);
}

TEST(PublicProbe, MatchesTheProbeOfKnativesAutoscaler) {
  const auto request = public_probe_request({.service = "web-00001",
                                             .space = "shop",
                                             .domain = "cluster.local",
                                             .cluster_ip = "10.96.0.9",
                                             .h2c = true});
  EXPECT_EQ(request.target.text(), "10.96.0.9:81");
  EXPECT_NE(request.text.find("Host: web-00001.shop.svc.cluster.local\r\n"), std::string::npos);
  EXPECT_NE(request.text.find("K-Network-Probe: activator\r\n"), std::string::npos);
}

}  // namespace
}  // namespace sluice::autoscaler
