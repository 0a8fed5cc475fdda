#include "common/kube/objects.h"

#include "common/kube/request_scaler.h"
#include "common/values/rfc3339.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::kube {
namespace {

// `spec` and `status` as JSON objects.
std::string pod_of(const std::string& spec, const std::string& status = "{}") {
  return R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":{"app":"a","n":1},)"
         R"("creationTimestamp":"2026-03-01T08:09:10Z","managedFields":[{"f":{"f":1}}],)"
         R"("annotations":{"controller.kubernetes.io/pod-deletion-cost":"-7"},)"
         R"("ownerReferences":[{"kind":"X","name":"x"},)"
         R"({"kind":"ReplicaSet","name":"r","uid":"ru","controller":true}]},"spec":)" +
         spec + R"(,"status":)" + status + "}";
}

std::string containers(const std::string& list, const std::string& init = "[]") {
  return R"({"nodeName":"n1","containers":)" + list + R"(,"initContainers":)" + init + "}";
}

TEST(KubeObjects, ReadsAPod) {
  const auto pod = decode_pod(pod_of(
      containers(R"([{"name":"app"}])",
                 R"([{"name":"queue-proxy","restartPolicy":"Always",)"
                 R"("ports":[{"name":"queue-port","containerPort":8012}]}])"),
      R"({"podIP":"10.0.0.1","phase":"Running","conditions":[{"type":"Ready","status":"True"}]})"));

  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->uid, "u");
  EXPECT_EQ(pod->labels, (StringMap{{"app", "a"}}));
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->ip, "10.0.0.1");
  EXPECT_EQ(pod->phase, "Running");
  EXPECT_TRUE(pod->ready);
  EXPECT_FALSE(pod->terminating);
  EXPECT_TRUE(pod->fast_ready);
  EXPECT_EQ(pod->serving_port, 8012);
  EXPECT_EQ(pod->owner, (OwnerReference{"ReplicaSet", "r", "ru"}));
  EXPECT_EQ(rfc3339(pod->created, Fraction::none), "2026-03-01T08:09:10Z");
  EXPECT_EQ(pod->deletion_cost, -7);
}

TEST(KubeObjects, ReadsWhyAPodHasNoNode) {
  const auto pod = decode_pod(pod_of(
      "{}", R"({"conditions":[{"type":"PodScheduled","status":"False","message":"no cpu"}]})"));

  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->scheduling_problem, "no cpu");
}

TEST(KubeObjects, ReadsContainersThatAreNotReadyUnlessTheyAreJustBeingMade) {
  const auto pod = decode_pod(pod_of("{}", R"({
      "conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-03-01T08:09:11Z"}],
      "initContainerStatuses":[
        {"name":"once","ready":true,"state":{"terminated":{"exitCode":0}},"restartCount":4}],
      "containerStatuses":[
        {"name":"well","ready":true,"state":{"running":{}}},
        {"name":"slow","ready":false,"state":{"running":{}},"restartCount":0},
        {"name":"made","ready":false,"state":{"waiting":{"reason":"ContainerCreating"}}},
        {"name":"gone","image":"i:1","ready":false,"restartCount":2,"state":{"waiting":
          {"reason":"ImagePullBackOff","message":"secret"}}},
        {"name":"app","image":"i:2","ready":false,"restartCount":3,"state":{"running":{}},
         "lastState":{"terminated":{"exitCode":137,"signal":9,"reason":"OOMKilled",
                                    "startedAt":"2026-03-01T08:09:12Z"}}},
        {"name":"over","image":"i:3","ready":false,"state":{"terminated":{"exitCode":2}},
         "lastState":{"terminated":{"exitCode":3}}}, 7]})"));

  ASSERT_TRUE(pod);
  ASSERT_EQ(pod->unready.size(), 3U);
  Pod::Container gone;
  gone.name = "gone";
  gone.image = "i:1";
  gone.waiting = "ImagePullBackOff";
  gone.restarts = 2;
  EXPECT_EQ(pod->unready[0], gone);
  EXPECT_EQ(pod->unready[1].name, "app");
  EXPECT_TRUE(pod->unready[1].running);
  EXPECT_EQ(pod->unready[1].restarts, 3);
  EXPECT_EQ(pod->unready[1].end,
            (Pod::Container::End{137, 9, "OOMKilled", *parse_rfc3339("2026-03-01T08:09:12Z")}));
  EXPECT_EQ(pod->unready[2].end->exit_code, 2);
  EXPECT_EQ(pod->ready_changed, *parse_rfc3339("2026-03-01T08:09:11Z"));
}

TEST(KubeObjects, UsesTheSidecarUnlessKubeletProbesWhatItCannot) {
  const auto fast = [](const std::string& list, const std::string& init = "[]") {
    return decode_pod(pod_of(containers(list, init)))->fast_ready;
  };

  EXPECT_TRUE(fast(R"([{"name":"app","readinessProbe":{"httpGet":{}}}])"));
  EXPECT_FALSE(fast(R"([{"name":"app","readinessProbe":{"exec":{}}}])"));
  EXPECT_FALSE(fast(R"([{"name":"queue-proxy"},{"name":"app","readinessProbe":{"exec":{}}}])"));
  EXPECT_FALSE(fast(R"([{"name":"app","startupProbe":{}}])"));
  EXPECT_TRUE(fast(R"([{"name":"app"},{"name":"log","readinessProbe":{"exec":{}}}])"));
  EXPECT_FALSE(fast(R"([{"name":"app"},{"name":"log","startupProbe":{}}])"));
  EXPECT_FALSE(fast(R"([{"name":"app"}])", R"([{"restartPolicy":"Always","startupProbe":{}}])"));
  EXPECT_TRUE(fast(R"([{"name":"app"}])", R"([{"name":"once","startupProbe":{}}])"));
}

TEST(KubeObjects, RefusesAnythingButAnObject) {
  const std::string deep(100, '[');
  const std::string texts[] = {
      "",
      "null",
      "[]",
      "{}",
      R"({"metadata":{}})",
      R"({"metadata":{"name":7}})",
      R"({"metadata":{"name":"a"})",
      R"({"metadata":{"name":"a"},"x":)" + deep + std::string(100, ']') + "}"};
  for (const std::string& text : texts) {
    EXPECT_FALSE(decode_pod(text)) << text;
    EXPECT_FALSE(decode_workload(text)) << text;
    EXPECT_FALSE(decode_service(text)) << text;
    EXPECT_FALSE(decode_endpoint_slice(text)) << text;
    EXPECT_FALSE(decode_config_map(text)) << text;
    EXPECT_FALSE(decode_other_scaler(text)) << text;
    EXPECT_FALSE(decode_request_scaler(text)) << text;
  }
}

TEST(KubeObjects, ReadsFieldsOfTheWrongTypeAsAbsent) {
  const std::string text =
      R"({"metadata":{"name":"a","labels":[],"ownerReferences":{},"annotations":7},)"
      R"("spec":{"replicas":"x","selector":[],"ports":[7,{"port":99999}],"template":[],)"
      R"("containers":[7],"initContainers":"x","targetRef":7,"autoscaling":[],"ignore":7},)"
      R"("status":[7],"endpoints":[7,{"addresses":[7]}],"ports":{},"data":[]})";

  EXPECT_EQ(decode_pod(text)->serving_port, 0);
  EXPECT_EQ(decode_workload(text)->replicas, 1);
  EXPECT_TRUE(decode_service(text)->ports.empty());
  EXPECT_TRUE(decode_endpoint_slice(text)->endpoints.empty());
  EXPECT_TRUE(decode_config_map(text)->empty());
  EXPECT_TRUE(decode_request_scaler(text)->scaling.empty());
}

TEST(KubeObjects, ReadsAWorkload) {
  const auto workload = decode_workload(
      R"({"metadata":{"name":"d","uid":"u"},"spec":{"replicas":0,"paused":true,"selector":)"
      R"({"matchLabels":{"app":"a"},"matchExpressions":[{"key":"t","operator":"In","values":["x"]}]},)"
      R"("template":{"metadata":{"labels":{"app":"a"},"annotations":{"k":"v"}},"spec":{"containers":)"
      R"([{"name":"queue-proxy","ports":[{"containerPort":8012}]},{"name":"none"},)"
      R"({"name":"app","ports":[{"name":"http","containerPort":8080},)"
      R"({"containerPort":9,"protocol":"UDP"}]}]}}},)"
      R"("status":{"replicas":3,"readyReplicas":2,"conditions":)"
      R"([{"type":"Progressing","status":"False","message":"late"}]}})");

  ASSERT_TRUE(workload);
  EXPECT_EQ(workload->replicas, 0);
  EXPECT_TRUE(workload->paused);
  EXPECT_EQ(workload->status_replicas, 3);
  EXPECT_EQ(workload->status_ready, 2);
  EXPECT_EQ(workload->template_annotations, (StringMap{{"k", "v"}}));
  EXPECT_EQ(workload->ports, (std::vector<Workload::Port>{{"http", 8080, "TCP"}, {"", 9, "UDP"}}));
  EXPECT_EQ(workload->progress_problem, "late");
  EXPECT_TRUE(workload->selector.matches({{"app", "a"}, {"t", "x"}}));
  EXPECT_FALSE(workload->selector.matches({{"app", "a"}}));
}

TEST(KubeObjects, MatchesLabelsAsTheApiDoes) {
  using Operator = Selector::Operator;
  const auto matches = [](Operator op, const StringMap& labels) {
    return Selector{{}, {{"k", op, {"a", "b"}}}}.matches(labels);
  };

  EXPECT_TRUE(matches(Operator::in, {{"k", "b"}}));
  EXPECT_FALSE(matches(Operator::in, {{"k", "c"}}));
  EXPECT_FALSE(matches(Operator::in, {}));
  EXPECT_TRUE(matches(Operator::not_in, {{"k", "c"}}));
  EXPECT_TRUE(matches(Operator::not_in, {}));
  EXPECT_FALSE(matches(Operator::not_in, {{"k", "a"}}));
  EXPECT_TRUE(matches(Operator::exists, {{"k", "c"}}));
  EXPECT_FALSE(matches(Operator::exists, {}));
  EXPECT_TRUE(matches(Operator::does_not_exist, {}));
  EXPECT_FALSE(matches(Operator::does_not_exist, {{"k", "c"}}));
  EXPECT_FALSE(Selector{}.matches({{"k", "c"}}));
}

TEST(KubeObjects, ReadsAService) {
  const auto service = decode_service(
      R"({"metadata":{"name":"s","resourceVersion":"9"},"spec":{"clusterIP":"None","ports":[)"
      R"({"name":"http","port":80,"targetPort":8080,"appProtocol":"kubernetes.io/h2c"},)"
      R"({"port":81,"targetPort":"web","protocol":"UDP"}]}})");

  ASSERT_TRUE(service);
  EXPECT_EQ(service->cluster_ip, "None");
  EXPECT_EQ(service->resource_version, "9");
  EXPECT_EQ(service->ports,
            (std::vector<Service::Port>{{"http", 80, "8080", "kubernetes.io/h2c", "TCP"},
                                        {"", 81, "web", "", "UDP"}}));
}

TEST(KubeObjects, TreatsAnEndpointOfUnknownConditionAsReady) {
  const auto slice = decode_endpoint_slice(
      R"({"metadata":{"name":"s"},"addressType":"IPv4","endpoints":[)"
      R"({"addresses":["10.0.0.1"],"targetRef":{"kind":"Pod","name":"p"}},)"
      R"({"addresses":["10.0.0.2"],"conditions":{"ready":false,"serving":true,"terminating":true}},)"
      R"({"addresses":[]}],"ports":[{"name":"http","port":80},)"
      R"({"name":"dns","port":53,"protocol":"UDP"}]})");

  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->endpoints,
            (std::vector<EndpointSlice::Endpoint>{{"10.0.0.1", true, true, false, "p", ""},
                                                  {"10.0.0.2", false, true, true, "", ""}}));
  EXPECT_EQ(slice->ports,
            (std::vector<EndpointSlice::Port>{{"http", 80, "", "TCP"}, {"dns", 53, "", "UDP"}}));
}

TEST(KubeObjects, ReadsOtherScalersOfATarget) {
  const auto keda =
      decode_other_scaler(R"({"metadata":{"name":"k"},"spec":{"scaleTargetRef":{"name":"shop"}}})");

  EXPECT_EQ(keda, (OtherScaler{"Deployment", "shop"}));
}

std::string scaler_of(const std::string& spec, const std::string& annotations = "{}") {
  return R"({"metadata":{"name":"shop","generation":3,"annotations":)" + annotations +
         R"(},"spec":)" + spec + "}";
}

TEST(KubeObjects, ReadsARequestScaler) {
  const auto scaler = decode_request_scaler(
      R"({"metadata":{"name":"shop","uid":"u","generation":3,"finalizers":["sluice.dev/service"]},)"
      R"("spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"shop"},)"
      R"("service":{"name":"web","port":"http","adopt":true,"ports":[{"name":"http","port":80}]},)"
      R"("containerConcurrency":5,"timeoutSeconds":60,"protocol":"h2c","ignore":{"paths":["/a"],)"
      R"("userAgents":["x"]},"signals":[{}]},"status":{"activatorPort":20001,"desired":0,)"
      R"("conditions":[{"type":"Ready","status":"True","reason":"R","lastTransitionTime":"t"}]}})");

  ASSERT_TRUE(scaler);
  EXPECT_EQ(scaler->generation, 3);
  EXPECT_EQ(scaler->finalizers, (std::vector<std::string>{"sluice.dev/service"}));
  EXPECT_EQ(scaler->target, (RequestScaler::Target{"apps/v1", "Deployment", "shop"}));
  EXPECT_EQ(scaler->service, (RequestScaler::ServiceSpec{"web", "http", {{"http", 80}}, true}));
  EXPECT_EQ(scaler->container_concurrency, 5);
  EXPECT_EQ(scaler->timeout_seconds, 60);
  EXPECT_EQ(scaler->protocol, "h2c");
  EXPECT_TRUE(scaler->has_signals);
  EXPECT_EQ(scaler->status.activator_port, 20001);
  EXPECT_EQ(scaler->status.desired, 0);
  EXPECT_EQ(scaler->status.granted, -1);
  ASSERT_EQ(scaler->status.conditions.size(), 1U);
  EXPECT_EQ(scaler->status.conditions[0].reason, "R");
}

TEST(KubeObjects, DistinguishesZeroReplicasFromNoChoice) {
  EXPECT_EQ(decode_request_scaler(scaler_of("{}"))->replicas, std::nullopt);
  EXPECT_EQ(decode_request_scaler(scaler_of(R"({"replicas":null})"))->replicas, std::nullopt);
  EXPECT_EQ(decode_request_scaler(scaler_of(R"({"replicas":0})"))->replicas, 0);
  EXPECT_EQ(decode_request_scaler(scaler_of(R"({"replicas":7})"))->replicas, 7);
}

TEST(KubeObjects, ReadsScalingKeysAsKnativesAnnotations) {
  const auto scaler = decode_request_scaler(
      scaler_of(R"({"autoscaling":{"metric":"rps","target":50,"targetUtilizationPercentage":"70",)"
                R"("targetBurstCapacity":-1,"min":0,"max":40,"initialScale":1,"activationScale":2,)"
                R"("window":"60s","panicWindowPercentage":10.50,"panicThresholdPercentage":200.0,)"
                R"("scaleDownDelay":"5m","retention":"1m","aggregation":"linear"}})"));

  ASSERT_TRUE(scaler);
  std::string text;
  for (const auto& [key, value] : scaler->scaling) {
    text += key.substr(key.find('/') + 1) + "=" + value + " ";
  }
  EXPECT_EQ(text,
            "activation-scale=2 initial-scale=1 max-scale=40 metric=rps "
            "metric-aggregation-algorithm=linear min-scale=0 panic-threshold-percentage=200 "
            "panic-window-percentage=10.5 scale-down-delay=5m "
            "scale-to-zero-pod-retention-period=1m target=50 target-burst-capacity=-1 "
            "target-utilization-percentage=70 window=60s ");
}

TEST(KubeObjects, PrefersAKeyOfTheSpecToBothSpellingsOfItsAnnotation) {
  const auto scaler = decode_request_scaler(scaler_of(
      R"({"autoscaling":{"min":2}})",
      R"({"autoscaling.knative.dev/minScale":"1","autoscaling.knative.dev/min-scale":"9",)"
      R"("autoscaling.knative.dev/maxScale":"8","autoscaling.sluice.dev/x":"y",)"
      R"("sluice.dev/load-balancing":"round-robin","other.dev/z":"z"})"));

  ASSERT_TRUE(scaler);
  EXPECT_EQ(scaler->scaling, (StringMap{{"autoscaling.knative.dev/maxScale", "8"},
                                        {"autoscaling.knative.dev/min-scale", "2"},
                                        {"autoscaling.sluice.dev/x", "y"},
                                        {"sluice.dev/load-balancing", "round-robin"}}));
  EXPECT_EQ(scaler->annotations.size(), 6U);
}

}  // namespace
}  // namespace sluice::kube
