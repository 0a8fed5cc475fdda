#include "injector/patch/pod_patch.h"

#include "queue-proxy/io/config.h"
#include "tests/unit/injector/pods.h"

#include <gtest/gtest.h>

namespace sluice::injector {
namespace {

TEST(Injection, AddsANativeSidecarAsTheLastInitContainer) {
  Json pod = plain_pod();
  pod["spec"]["initContainers"] = Json::parse(R"([{"name": "migrate"}])");

  const Json after = injected(pod);

  ASSERT_EQ(after["spec"]["initContainers"].size(), 2U);
  const Json& sidecar = after["spec"]["initContainers"][1];
  EXPECT_EQ(sidecar["name"], "queue-proxy");
  EXPECT_EQ(sidecar["restartPolicy"], "Always");
  EXPECT_TRUE(sidecar.contains("readinessProbe"));
  EXPECT_FALSE(sidecar.contains("startupProbe"));
  EXPECT_EQ(after["spec"]["containers"].size(), 1U);
}

TEST(Injection, AddsAnOrdinaryContainerForOlderClusters) {
  InjectionSettings settings = usual_settings();
  settings.native = false;

  const Json after = injected(plain_pod(), shop(), settings);

  ASSERT_EQ(after["spec"]["containers"].size(), 2U);
  const Json& sidecar = after["spec"]["containers"][1];
  EXPECT_EQ(sidecar["name"], "queue-proxy");
  EXPECT_FALSE(sidecar.contains("restartPolicy"));
  EXPECT_FALSE(sidecar.contains("lifecycle"));  // SIGTERM comes together with the app's preStop
  EXPECT_FALSE(after["spec"].contains("initContainers"));
}

TEST(Injection, NamesItsPorts) {
  std::string ports;
  const Json after = injected(plain_pod());
  for (const Json& port : sidecar_of(after)["ports"]) {
    ports += text(port, "name") + "=" + std::to_string(*whole(port, "containerPort")) + " ";
  }
  EXPECT_EQ(ports, "queue-port=8012 queue-admin=8022 queue-stats=9090 queue-metrics=9091 ");
}

TEST(Injection, LabelsThePodWithItsVersion) {
  const Json metadata = injected(plain_pod())["metadata"];
  EXPECT_EQ(metadata["labels"]["sluice.dev/sidecar"], "queue-proxy");
  EXPECT_EQ(metadata["annotations"]["sluice.dev/injected"], "1.0.0");
}

TEST(Injection, GivesTheSidecarEveryVariableThatItRequires) {
  for (const bool native : {true, false}) {
    InjectionSettings settings = usual_settings();
    settings.native = native;
    const std::string config = R"({"SLUICE_QUEUE_DEPTH": 50, "SERVING_LOGGING_LEVEL": "debug"})";
    const Json pod = annotated(plain_pod(), "sluice.dev/config", config);
    auto variables = variables_of(injected(pod, shop(), settings));
    for (auto& [name, value] : variables) {
      if (value.starts_with("<")) value = "10.0.0.1";
    }

    const auto read = queue_proxy::read_config([&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });

    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->user.port, 8080);
    EXPECT_EQ(read->serving.port, 8012);
    EXPECT_EQ(read->queue_depth, 50);
    EXPECT_EQ(read->timeout, std::chrono::seconds{300});
    ASSERT_EQ(read->probes.size(), 1U);
    EXPECT_FALSE(read->serving_tls);
  }
}

// Goal: no Service of the namespace, whatever its name, is taken for a setting of the sidecar.
// Method: what the container does not set comes from such a Service if its name allows it.
TEST(Injection, IsNotMisledByTheVariablesOfServices) {
  auto variables = variables_of(injected(plain_pod()));
  const auto of_a_service = [](const std::string& name) -> std::optional<std::string> {
    if (name.ends_with("_PORT")) return "tcp://10.0.0.2:9090";
    if (name.ends_with("_SERVICE_HOST")) return "10.0.0.2";
    if (name.ends_with("_SERVICE_PORT") || name.find("_PORT_") != std::string::npos) return "9090";
    return std::nullopt;
  };

  const auto read = queue_proxy::read_config([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return of_a_service(name);
    return found->second.starts_with("<") ? "10.0.0.1" : found->second;
  });

  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->observability.metrics->port, 9091);
}

TEST(Injection, IdentifiesThePodByTheDownwardApi) {
  auto variables = variables_of(injected(plain_pod()));
  EXPECT_EQ(variables["SERVING_NAMESPACE"], "<metadata.namespace>");
  EXPECT_EQ(variables["SERVING_POD"], "<metadata.name>");
  EXPECT_EQ(variables["SERVING_POD_IP"], "<status.podIP>");
  EXPECT_EQ(variables["SLUICE_NODE_ADDRESS"], "<status.hostIP>");
  EXPECT_EQ(variables["SERVING_REVISION"], "shop");
}

// Clients reach these pods by their Service: none of them may name the Host that the app sees.
TEST(Injection, TrustsOnlyAnActivatorForTheHostByDefault) {
  EXPECT_EQ(variables_of(injected(plain_pod()))["SLUICE_ORIGINAL_HOST"], "activator");
  const Json chosen =
      annotated(plain_pod(), "sluice.dev/config", R"({"SLUICE_ORIGINAL_HOST":"ingress"})");
  EXPECT_EQ(variables_of(injected(chosen))["SLUICE_ORIGINAL_HOST"], "ingress");
}

TEST(Injection, TakesTheFirstTcpPortOfTheMainContainer) {
  Json pod = plain_pod();
  pod["spec"]["containers"] = Json::parse(R"([
    {"name": "agent"},
    {"name": "proxy", "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 4143}]},
    {"name": "app", "ports": [{"containerPort": 3000}]}])");
  EXPECT_EQ(variables_of(injected(pod))["USER_PORT"], "4143");

  pod = annotated(pod, "kubectl.kubernetes.io/default-container", "app");
  EXPECT_EQ(variables_of(injected(pod))["USER_PORT"], "3000");
}

TEST(Injection, TakesThePortOfTheAnnotationByNumberOrName) {
  Json pod = plain_pod();
  pod["spec"]["containers"][0]["ports"].push_back({{"name", "api"}, {"containerPort", 3001}});
  EXPECT_EQ(variables_of(injected(annotated(pod, "sluice.dev/port", "api")))["USER_PORT"], "3001");
  EXPECT_EQ(variables_of(injected(annotated(pod, "sluice.dev/port", "81")))["USER_PORT"], "81");

  pod["spec"]["containers"][0].erase("ports");
  EXPECT_EQ(variables_of(injected(annotated(pod, "sluice.dev/port", "82")))["USER_PORT"], "82");
}

TEST(Injection, TakesTheContainerThatKubectlTakesForOneBehindAPortThatNoneNames) {
  Json pod = annotated(plain_pod(), "sluice.dev/port", "81");
  pod["spec"]["containers"] = Json::parse(R"([{"name": "agent"},
    {"name": "app", "readinessProbe": {"tcpSocket": {"port": 82}}}])");
  const auto probe = [](const Json& of) {
    return variables_of(injected(of))["SERVING_READINESS_PROBE"];
  };
  EXPECT_NE(probe(pod).find("\"port\":81"), std::string::npos);

  pod = annotated(pod, "kubectl.kubernetes.io/default-container", "app");
  EXPECT_NE(probe(pod).find("\"port\":82"), std::string::npos);
}

TEST(Injection, TakesLimitsFromAnnotationsAndAScalerWinsOverThem) {
  Json pod = annotated(plain_pod(), "sluice.dev/concurrency", "7");
  pod = annotated(pod, "sluice.dev/timeout-seconds", "20");
  auto variables = variables_of(injected(pod));
  EXPECT_EQ(variables["CONTAINER_CONCURRENCY"], "7");
  EXPECT_EQ(variables["REVISION_TIMEOUT_SECONDS"], "20");

  const PodOwner owner{.name = "shop",
                       .scaler = ScalerFacts{.name = "shop-scaler",
                                             .service = "front",
                                             .container_concurrency = 2,
                                             .timeout_seconds = 60,
                                             .response_start_timeout_seconds = 5,
                                             .idle_timeout_seconds = 6}};
  variables = variables_of(injected(pod, owner));
  EXPECT_EQ(variables["CONTAINER_CONCURRENCY"], "2");
  EXPECT_EQ(variables["REVISION_TIMEOUT_SECONDS"], "60");
  EXPECT_EQ(variables["REVISION_RESPONSE_START_TIMEOUT_SECONDS"], "5");
  EXPECT_EQ(variables["REVISION_IDLE_TIMEOUT_SECONDS"], "6");
  EXPECT_EQ(variables["SERVING_REVISION"], "shop-scaler");
  EXPECT_EQ(variables["SERVING_SERVICE"], "front");
}

TEST(Injection, PassesTheIgnoreRulesOfItsScalerToTheSidecar) {
  PodOwner owner{.name = "shop", .scaler = ScalerFacts{.name = "shop", .service = "shop"}};
  auto variables = variables_of(injected(plain_pod(), owner));
  EXPECT_FALSE(variables.contains("SLUICE_IGNORE_PATHS"));

  owner.scaler->ignore_paths = {"/healthz", "/metrics*"};
  owner.scaler->ignore_user_agents = {"(?i)uptime$", "$(HOME)"};
  variables = variables_of(injected(plain_pod(), owner));

  EXPECT_EQ(variables["SLUICE_IGNORE_PATHS"], "/healthz\n/metrics*");
  EXPECT_EQ(variables["SLUICE_IGNORE_USER_AGENTS"], "(?i)uptime$$\n$$(HOME)");
}

TEST(Injection, MovesItsPortsByAnnotation) {
  Json pod = annotated(plain_pod(), "sluice.dev/serving-port", "18012");
  pod = annotated(pod, "sluice.dev/admin-port", "18022");
  pod = annotated(pod, "sluice.dev/metrics-port", "19091");

  const Json after = injected(pod);

  auto variables = variables_of(after);
  EXPECT_EQ(variables["QUEUE_SERVING_PORT"], "18012");
  EXPECT_EQ(variables["SLUICE_ADMIN_ADDRESS"], ":18022");
  EXPECT_EQ(variables["SLUICE_METRICS_ADDRESS"], ":19091");
  EXPECT_EQ(sidecar_of(after)["readinessProbe"]["httpGet"]["port"], 18012);
  EXPECT_EQ(after["spec"]["containers"][0]["lifecycle"]["preStop"]["httpGet"]["port"], 18022);
}

TEST(Injection, HooksAppsWithoutAPreStopToTheDrain) {
  Json pod = plain_pod();
  pod["spec"]["containers"].push_back(
      Json::parse(R"({"name": "own", "lifecycle": {"preStop": {"exec": {"command": ["sh"]}}}})"));
  pod["spec"]["containers"].push_back(
      Json::parse(R"({"name": "late", "lifecycle": {"postStart": {"exec": {"command": ["a"]}}}})"));

  const Json after = injected(pod)["spec"]["containers"];

  EXPECT_EQ(after[0]["lifecycle"].dump(),
            R"({"preStop":{"httpGet":{"path":"/wait-for-drain","port":8022,"scheme":"HTTP"}}})");
  EXPECT_EQ(after[1], pod["spec"]["containers"][1]);
  EXPECT_TRUE(after[2]["lifecycle"].contains("preStop"));
  EXPECT_TRUE(after[2]["lifecycle"].contains("postStart"));
}

TEST(Injection, DrainsANativeSidecarBeforeKubeletEndsIt) {
  EXPECT_EQ(sidecar_of(injected(plain_pod()))["lifecycle"].dump(),
            R"({"preStop":{"exec":{"command":["/queue-proxy","--drain"]}}})");
}

TEST(Injection, KeepsTheProbesOfTheApp) {
  Json pod = plain_pod();
  pod["spec"]["containers"][0]["readinessProbe"] =
      Json::parse(R"({"httpGet": {"path": "/up", "port": "web"}, "timeoutSeconds": 3})");
  pod["spec"]["containers"][0]["livenessProbe"] = Json::parse(R"({"tcpSocket": {"port": 8080}})");

  const Json after = injected(pod)["spec"]["containers"][0];

  EXPECT_EQ(after["readinessProbe"], pod["spec"]["containers"][0]["readinessProbe"]);
  EXPECT_EQ(after["livenessProbe"], pod["spec"]["containers"][0]["livenessProbe"]);
}

TEST(Injection, ProbesTheAppAsItsOwnReadinessProbeDoes) {
  const auto copied = [](const char* probe) {
    Json pod = plain_pod();
    if (*probe != 0) pod["spec"]["containers"][0]["readinessProbe"] = Json::parse(probe);
    return variables_of(injected(pod))["SERVING_READINESS_PROBE"];
  };
  const char* tcp = R"({"tcpSocket":{"host":"127.0.0.1","port":8080},"successThreshold":1})";
  EXPECT_EQ(copied(""), tcp);
  EXPECT_EQ(copied(R"({"tcpSocket": {"port": "web"}, "periodSeconds": 10})"), tcp);
  EXPECT_EQ(copied(R"({"exec": {"command": ["true"]}})"), tcp);
  EXPECT_EQ(copied(R"({"httpGet": {"path": "/up", "port": 81, "host": "example.com"}})"),
            R"({"httpGet":{"host":"127.0.0.1","path":"/up","port":81,"scheme":"HTTP"},)"
            R"("periodSeconds":1,"timeoutSeconds":1,"successThreshold":1})");
  EXPECT_EQ(copied(R"({"grpc": {"port": 8080, "service": "a"}, "timeoutSeconds": 4})"),
            R"({"grpc":{"port":8080,"service":"a"},)"
            R"("periodSeconds":1,"timeoutSeconds":4,"successThreshold":1})");
}

TEST(Injection, IsProbedByKubeletAtTheIntervalOfTheApp) {
  Json pod = plain_pod();
  EXPECT_EQ(sidecar_of(injected(pod))["readinessProbe"].dump(),
            R"({"httpGet":{"path":"/","port":8012,"scheme":"HTTP",)"
            R"("httpHeaders":[{"name":"K-Network-Probe","value":"queue"}]},)"
            R"("timeoutSeconds":10,"periodSeconds":1,"successThreshold":1,"failureThreshold":3})");

  pod["spec"]["containers"][0]["readinessProbe"] = Json::parse(
      R"({"httpGet": {"port": 8080}, "periodSeconds": 4, "timeoutSeconds": 2, "failureThreshold": 9})");
  const Json probe = sidecar_of(injected(pod))["readinessProbe"];
  EXPECT_EQ(probe["periodSeconds"], 4);
  EXPECT_EQ(probe["timeoutSeconds"], 3);
  EXPECT_EQ(probe["failureThreshold"], 9);
}

TEST(Injection, ExtendsTheGracePeriodForTheDrainWhereNoneIsChosen) {
  const auto grace = [](Json pod, const Json& own, const char* timeout) {
    if (!own.is_null()) pod["spec"]["terminationGracePeriodSeconds"] = own;
    pod = injected(annotated(pod, "sluice.dev/timeout-seconds", timeout));
    return member(pod["spec"], "terminationGracePeriodSeconds").dump() + " " +
           variables_of(pod)["SLUICE_DRAIN_QUIET"];
  };
  EXPECT_EQ(grace(plain_pod(), nullptr, "300"), "300 30s");
  EXPECT_EQ(grace(plain_pod(), 30, "300"), "300 30s");  // what the API fills in
  EXPECT_EQ(grace(plain_pod(), 30, "90"), "90 30s");
  EXPECT_EQ(grace(plain_pod(), nullptr, "3600"), "300 30s");
  EXPECT_EQ(grace(plain_pod(), nullptr, "10"), "null 10s");
  EXPECT_EQ(grace(plain_pod(), 30, "10"), "30 10s");
  EXPECT_EQ(grace(plain_pod(), 60, "300"), "60 20s");
  EXPECT_EQ(grace(plain_pod(), 0, "300"), "0 1s");
}

TEST(Injection, RunsRestricted) {
  Json pod = plain_pod();
  EXPECT_EQ(sidecar_of(injected(pod))["securityContext"].dump(),
            R"({"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,)"
            R"("runAsNonRoot":true,"capabilities":{"drop":["ALL"]},)"
            R"("seccompProfile":{"type":"RuntimeDefault"}})");

  pod["spec"]["securityContext"] = {{"runAsUser", 0}};
  EXPECT_EQ(sidecar_of(injected(pod))["securityContext"]["runAsUser"], 65'532);
}

TEST(Injection, RequestsFewResources) {
  InjectionSettings settings = usual_settings();
  EXPECT_EQ(sidecar_of(injected(plain_pod()))["resources"].dump(),
            R"({"requests":{"cpu":"25m","memory":"16Mi"}})");

  settings.resources = {
      .cpu_request = "", .memory_request = "", .cpu_limit = "1", .memory_limit = "64Mi"};
  EXPECT_EQ(sidecar_of(injected(plain_pod(), shop(), settings))["resources"].dump(),
            R"({"limits":{"cpu":"1","memory":"64Mi"}})");
}

TEST(Injection, RequestsNothingWhereThePodHasRequestsAsAWhole) {
  Json pod = plain_pod();
  pod["spec"]["resources"] = {{"requests", {{"cpu", "100m"}}}};
  EXPECT_FALSE(sidecar_of(injected(pod)).contains("resources"));
}

TEST(Injection, OfAnInjectedPodChangesNothing) {
  const Json once = injected(plain_pod());
  EXPECT_EQ(told(once), "skipped: it already has the sidecar of this version");

  InjectionSettings other = usual_settings();
  other.version = "1.1.0";
  EXPECT_EQ(told(once, shop(), other), "skipped: it has the sidecar of version 1.0.0");
}

TEST(Injection, BringsAPodToAnotherVersionOnRequest) {
  InjectionSettings newer = usual_settings();
  newer.version = "1.1.0";
  newer.renew = true;

  const Json renewed = injected(injected(plain_pod()), shop(), newer);

  EXPECT_EQ(renewed, injected(plain_pod(), shop(), newer));
}

TEST(Injection, FollowsChangesOfAnInjectedPodOnRequest) {
  InjectionSettings renewing = usual_settings();
  renewing.renew = true;
  Json pod = plain_pod();
  pod["spec"]["containers"][0]["ports"][0]["containerPort"] = 3000;
  Json edited = injected(plain_pod());
  edited["spec"]["containers"][0]["ports"] = pod["spec"]["containers"][0]["ports"];

  const Json renewed = injected(edited, shop(), renewing);

  EXPECT_EQ(renewed, injected(pod));
  EXPECT_EQ(told(renewed, shop(), renewing), "skipped: it already has the sidecar of this version");
}

TEST(Injection, IgnoresTheOrderOfKeys) {
  InjectionSettings renewing = usual_settings();
  renewing.renew = true;
  Json pod = injected(plain_pod());
  pod["metadata"]["labels"].erase("app");
  pod["metadata"]["labels"]["app"] = "shop";
  EXPECT_EQ(told(pod, shop(), renewing), "skipped: it already has the sidecar of this version");
}

TEST(Injection, PatchLeadsToTheInjectedPodAndIsEmptyForItself) {
  const Json before = plain_pod();
  const Json after = injected(before);

  const std::string patch = json_patch(before, after);

  EXPECT_EQ(before.patch(Json::parse(patch)), after);
  EXPECT_EQ(json_patch(after, after), "[]");
  std::string paths;
  for (const Json& step : Json::parse(patch)) paths += text(step, "op") + text(step, "path") + " ";
  EXPECT_EQ(paths,
            "add/metadata/labels/sluice.dev~1sidecar add/metadata/annotations "
            "add/spec/containers/0/lifecycle add/spec/terminationGracePeriodSeconds "
            "add/spec/initContainers ");
}

TEST(Restoring, RestoresTheOriginalDocument) {
  Json pod = plain_pod();
  Json other = annotated(plain_pod(), "team", "a");
  other["spec"]["terminationGracePeriodSeconds"] = 30;
  other["spec"]["initContainers"] = Json::parse(R"([{"name": "migrate"}])");
  Json bare =
      Json::parse(R"({"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 1}]}]}})");
  Json hollow = plain_pod();
  hollow["metadata"]["labels"] = Json::object();
  hollow["metadata"]["annotations"] = nullptr;
  hollow["spec"]["initContainers"] = Json::array();
  hollow["spec"]["containers"][0]["lifecycle"] = Json::object();
  hollow["spec"]["terminationGracePeriodSeconds"] = nullptr;
  for (const Json& before : {pod, other, bare, hollow}) {
    for (const bool native : {true, false}) {
      InjectionSettings settings = usual_settings();
      settings.native = native;
      Json after = injected(before, shop(), settings);
      ASSERT_TRUE(is_injected(after)) << after.dump();
      ASSERT_TRUE(restore(after));
      EXPECT_EQ(after.dump(), before.dump());
      EXPECT_FALSE(restore(after));
    }
  }
}

TEST(Restoring, KeepsLaterChanges) {
  Json pod = injected(plain_pod());
  pod["spec"]["terminationGracePeriodSeconds"] = 45;
  pod["spec"]["containers"][0]["lifecycle"]["preStop"] = {{"sleep", {{"seconds", 5}}}};
  pod["metadata"]["annotations"]["since"] = "then";

  ASSERT_TRUE(restore(pod));

  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], 45);
  EXPECT_TRUE(pod["spec"]["containers"][0]["lifecycle"]["preStop"].contains("sleep"));
  EXPECT_EQ(pod["metadata"]["annotations"].dump(), R"({"since":"then"})");
}

TEST(Owner, IsTheDeploymentBehindAReplicaSet) {
  Json pod = plain_pod();
  pod["metadata"]["labels"]["pod-template-hash"] = "7d4b9c";
  pod["metadata"]["ownerReferences"] = Json::parse(R"([
    {"kind": "Thing", "name": "no"}, {"kind": "ReplicaSet", "name": "shop-7d4b9c", "controller": true}])");
  EXPECT_EQ(owner_of(pod), (OwnerName{"Deployment", "shop"}));

  pod["metadata"]["labels"].erase("pod-template-hash");
  EXPECT_EQ(owner_of(pod), (OwnerName{"ReplicaSet", "shop-7d4b9c"}));
  EXPECT_EQ(owner_of(Json::parse(R"({"metadata": {"generateName": "job-"}})")),
            (OwnerName{"Pod", "job"}));
}

}  // namespace
}  // namespace sluice::injector
