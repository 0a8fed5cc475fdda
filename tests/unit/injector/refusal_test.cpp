#include "tests/unit/injector/pods.h"

#include <gtest/gtest.h>

namespace sluice::injector {
namespace {

Json with(const char* path, const Json& value) {
  Json pod = plain_pod();
  pod[Json::json_pointer(path)] = value;
  return pod;
}

TEST(Skipping, RespectsTheLabelThatOptsOut) {
  EXPECT_EQ(told(with("/metadata/labels/sluice.dev~1inject", "false")),
            "skipped: the label sluice.dev/inject is false");
  EXPECT_EQ(told(with("/metadata/labels/sluice.dev~1inject", "true")), "patched");
}

TEST(Skipping, LeavesPodsOfTheHostsNetworkAlone) {
  EXPECT_EQ(told(with("/spec/hostNetwork", true)),
            "skipped: it uses the host network, where the sidecar would take ports of the node");
}

TEST(Skipping, LeavesKnativesOwnSidecarAlone) {
  Json pod = plain_pod();
  pod["spec"]["containers"].push_back({{"name", "queue-proxy"}});
  EXPECT_EQ(told(pod),
            "skipped: it has a container named queue-proxy that is not a Sluice sidecar");
}

TEST(Skipping, LeavesPodsThatRunToAnEndAlone) {
  EXPECT_EQ(told(with("/spec/restartPolicy", "Never")),
            "skipped: it runs to completion (restartPolicy Never), which a sidecar would delay");
  EXPECT_EQ(
      told(with("/spec/restartPolicy", "OnFailure")),
      "skipped: it runs to completion (restartPolicy OnFailure), which a sidecar would delay");
  EXPECT_EQ(told(with("/spec/restartPolicy", "Always")), "patched");
}

TEST(Skipping, OfAPodThatRunsToAnEndYieldsToItsLabelWhereTheSidecarIsNative) {
  Json pod = with("/spec/restartPolicy", "Never");
  pod["metadata"]["labels"]["sluice.dev/inject"] = "true";
  EXPECT_EQ(told(pod), "patched");

  InjectionSettings ordinary = usual_settings();
  ordinary.native = false;
  EXPECT_EQ(told(pod, shop(), ordinary),
            "skipped: it runs to completion (restartPolicy Never), which a sidecar would delay");
}

TEST(Skipping, LeavesWindowsAlone) {
  EXPECT_EQ(told(with("/spec/os", {{"name", "windows"}})), "skipped: it runs on Windows");
}

TEST(Refusing, APodWithoutPortsNamesBothWaysOut) {
  Json pod = plain_pod();
  pod["spec"]["containers"][0].erase("ports");
  EXPECT_EQ(told(pod),
            "refused: no container has a port, so there is nothing to send requests to; name the "
            "app's port in `ports` of its container or in the annotation sluice.dev/port, or opt "
            "out with the label sluice.dev/inject: \"false\"");
}

TEST(Refusing, APortClashNamesTheAnnotationThatMovesOurs) {
  const auto clash = [](long port) {
    Json pod = plain_pod();
    pod["spec"]["containers"][0]["ports"].push_back({{"containerPort", port}});
    return told(pod);
  };
  EXPECT_EQ(
      clash(8012),
      "refused: port 8012, the sidecar's queue-port, is taken by container `app`; move the "
      "sidecar's port with the annotation sluice.dev/serving-port on the pod template, such as "
      "\"18012\"");
  EXPECT_NE(clash(8022).find("sluice.dev/admin-port"), std::string::npos);
  EXPECT_NE(clash(9091).find("sluice.dev/metrics-port"), std::string::npos);
  EXPECT_NE(clash(9090).find("use another port there"), std::string::npos);
}

TEST(Refusing, APortThatIsMovedOntoTheAppOrAnotherOfOurs) {
  EXPECT_NE(told(annotated(plain_pod(), "sluice.dev/port", "8022")).find("taken by the app"),
            std::string::npos);
  EXPECT_NE(told(annotated(plain_pod(), "sluice.dev/serving-port", "8080")).find("container `app`"),
            std::string::npos);
  EXPECT_NE(told(annotated(plain_pod(), "sluice.dev/admin-port", "8012")).find("another port of"),
            std::string::npos);
}

TEST(Refusing, AnAnnotationWithAnInvalidNumber) {
  EXPECT_EQ(
      told(annotated(plain_pod(), "sluice.dev/concurrency", "many")),
      "refused: annotation sluice.dev/concurrency is `many`; give a whole number from 0 to 1000");
  EXPECT_EQ(told(annotated(plain_pod(), "sluice.dev/timeout-seconds", "0")),
            "refused: annotation sluice.dev/timeout-seconds is `0`; give a whole number from 1 to "
            "86400");
  EXPECT_EQ(told(annotated(plain_pod(), "sluice.dev/serving-port", "70000")),
            "refused: annotation sluice.dev/serving-port is `70000`; give a whole number from 1 to "
            "65535");
  EXPECT_EQ(told(annotated(plain_pod(), "sluice.dev/port", "nowhere")),
            "refused: annotation sluice.dev/port is `nowhere`, which is not a TCP port of a "
            "container; give a port's number, or its name in `ports`");
}

TEST(Refusing, ConfigThatIsNotAnObjectOrSetsManagedVariables) {
  const auto config = [](const char* json) {
    return told(annotated(plain_pod(), "sluice.dev/config", json));
  };
  EXPECT_NE(config("{").find("not a JSON object"), std::string::npos);
  EXPECT_NE(config("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(config(R"({"USER_PORT": "1"})").find("use the annotation sluice.dev/port"),
            std::string::npos);
  EXPECT_NE(config(R"({"LD_PRELOAD": "x"})").find("LD_PRELOAD is not a variable that may be set"),
            std::string::npos);
  EXPECT_NE(config(R"({"SLUICE_QUEUE_DEPTH": {}})").find("is not a string"), std::string::npos);
  EXPECT_NE(config(std::string(100'000, '[').c_str()).find("not a JSON object"), std::string::npos);
  EXPECT_EQ(config(R"({"SLUICE_QUEUE_DEPTH": "3"})"), "patched");
}

TEST(Refusing, ObjectsThatAreNotPods) {
  for (const char* pod :
       {"null", "[]", "{}", R"({"spec": 1})", R"({"spec": {"containers": []}})",
        R"({"spec": {"containers": {}}})", R"({"spec": {"containers": [1]}})",
        R"({"spec": {"containers": [{}]}})", R"({"spec": {"containers": [{"name": 3}]}})",
        R"({"metadata": [], "spec": {"containers": [{"name": "a"}]}})",
        R"({"metadata": {"labels": {"a": 1}}, "spec": {"containers": [{"name": "a"}]}})",
        R"({"spec": {"containers": [{"name": "a", "ports": {}}]}})",
        R"({"spec": {"containers": [{"name": "a", "lifecycle": "b"}]}})",
        R"({"spec": {"initContainers": 3, "containers": [{"name": "a"}]}})"}) {
    EXPECT_TRUE(told(Json::parse(pod)).starts_with("refused: "))
        << pod << ": " << told(Json::parse(pod));
    Json copy = Json::parse(pod);
    EXPECT_FALSE(restore(copy)) << pod;
  }
}

}  // namespace
}  // namespace sluice::injector
