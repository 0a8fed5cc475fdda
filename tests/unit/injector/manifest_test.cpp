#include "injector/patch/manifest.h"

#include "tests/unit/injector/pods.h"

#include <gtest/gtest.h>

namespace sluice::injector {
namespace {

Json deployment() {
  Json document = Json::parse(R"({"apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "shop"}, "spec": {"replicas": 2}})");
  document["spec"]["template"] = plain_pod();
  return document;
}

Json service(const char* ports, const char* selector = R"({"app": "shop"})") {
  Json document = Json::parse(R"({"kind": "Service", "metadata": {"name": "shop"}})");
  document["spec"]["selector"] = Json::parse(selector);
  document["spec"]["ports"] = Json::parse(ports);
  return document;
}

std::string targets(const Json& document) {
  std::string list;
  for (const Json& port : document["spec"]["ports"])
    list += member(port, "targetPort").dump() + " ";
  return list;
}

TEST(Manifest, InjectsTemplatesExactlyAsAPodIsInjected) {
  std::vector<Json> documents{deployment(), Json::parse(R"({"kind": "ConfigMap"})"), Json()};

  const auto change = inject_manifest(documents, usual_settings(), true);

  ASSERT_TRUE(change);
  EXPECT_EQ(change->changed, std::set<std::size_t>{0});
  EXPECT_EQ(documents[0]["spec"]["template"], injected(plain_pod()));
}

TEST(Manifest, ScalersOfTheSameStreamConfigureTheSidecar) {
  std::vector<Json> documents{deployment(), Json::parse(R"({"kind": "RequestScaler",
    "metadata": {"name": "front"}, "spec": {"targetRef": {"name": "shop"},
    "containerConcurrency": 5, "timeoutSeconds": 40}})")};

  ASSERT_TRUE(inject_manifest(documents, usual_settings(), true));

  auto variables = variables_of(documents[0]["spec"]["template"]);
  EXPECT_EQ(variables["CONTAINER_CONCURRENCY"], "5");
  EXPECT_EQ(variables["REVISION_TIMEOUT_SECONDS"], "40");
  EXPECT_EQ(variables["SERVING_REVISION"], "front");
}

TEST(Manifest, RedirectsThePortsOfServicesThatLeadToTheApp) {
  const char* ports = R"([{"name": "a", "port": 80, "targetPort": "web"},
    {"name": "b", "port": 8080}, {"name": "c", "port": 81, "targetPort": 8080},
    {"name": "d", "port": 82, "targetPort": 9999}, {"name": "e", "port": 83, "protocol": "UDP",
    "targetPort": 8080}])";
  std::vector<Json> documents{service(ports), deployment(), service(ports, R"({"app": "other"})")};
  const std::vector<Json> before = documents;

  const auto change = inject_manifest(documents, usual_settings(), true);

  ASSERT_TRUE(change);
  EXPECT_EQ(change->changed, (std::set<std::size_t>{0, 1}));
  EXPECT_EQ(targets(documents[0]), R"("queue-port" "queue-port" "queue-port" 9999 8080 )");
  EXPECT_EQ(restore_manifest(documents).changed, change->changed);
  EXPECT_EQ(Json(documents).dump(), Json(before).dump());
}

TEST(Manifest, KeepsEveryRedirectedPortHoweverOftenItInjects) {
  std::vector<Json> documents{service(R"([{"port": 80, "targetPort": "web"}])"), deployment()};
  ASSERT_TRUE(inject_manifest(documents, usual_settings(), true));
  documents[0]["spec"]["ports"].push_back({{"port", 81}, {"targetPort", 8080}});
  ASSERT_TRUE(inject_manifest(documents, usual_settings(), true));
  EXPECT_EQ(targets(documents[0]), R"("queue-port" "queue-port" )");

  EXPECT_TRUE(restore_manifest(documents).changed.contains(0));

  EXPECT_EQ(targets(documents[0]), R"("web" 8080 )");
}

TEST(Manifest, LeavesServicesThatLeadToPodsWithoutASidecarTooAsTheyAre) {
  Json opted_out = deployment();
  opted_out["metadata"]["name"] = "old";
  opted_out["spec"]["template"]["metadata"]["labels"]["sluice.dev/inject"] = "false";
  Json daemons = deployment();
  daemons["kind"] = "DaemonSet";
  for (const Json& other : {opted_out, daemons}) {
    std::vector<Json> documents{service(R"([{"port": 8080}])"), deployment(), other};
    const Json before = documents[0];

    const auto change = inject_manifest(documents, usual_settings(), true);

    ASSERT_TRUE(change);
    EXPECT_EQ(change->changed, std::set<std::size_t>{1});
    EXPECT_EQ(documents[0], before);
    ASSERT_FALSE(change->notes.empty());
    EXPECT_EQ(change->notes.back(),
              "Service shop is unchanged: it also selects pods without a sidecar");
  }
}

TEST(Manifest, LeavesServicesUnchangedOnRequest) {
  std::vector<Json> documents{service(R"([{"port": 8080}])"), deployment()};
  const auto change = inject_manifest(documents, usual_settings(), false);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->changed, std::set<std::size_t>{1});
}

TEST(Manifest, LooksIntoLists) {
  std::vector<Json> documents{Json::parse(R"({"kind": "List", "items": []})")};
  documents[0]["items"].push_back(deployment());
  ASSERT_TRUE(inject_manifest(documents, usual_settings(), true));
  EXPECT_TRUE(is_injected(documents[0]["items"][0]["spec"]["template"]));
}

TEST(Manifest, NamesObjectsThatItCannotInjectOrLeavesUnchanged) {
  Json left = deployment();
  left["spec"]["template"]["spec"]["hostNetwork"] = true;
  std::vector<Json> documents{left};
  const auto change = inject_manifest(documents, usual_settings(), true);
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->changed.empty());
  EXPECT_TRUE(change->notes.at(0).starts_with("Deployment shop is unchanged: it uses the host "));

  documents[0]["spec"]["template"]["spec"] = Json::parse(R"({"containers": [{"name": "a"}]})");
  const auto refused = inject_manifest(documents, usual_settings(), true);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().what.starts_with("Deployment shop: no container has a port"));
}

TEST(Manifest, SkipsOtherObjects) {
  for (const char* odd : {"[]", "3", R"({"kind": "Deployment"})", R"({"kind": 3, "metadata": 4})",
                          R"({"kind": "List", "items": [1, {}]})", R"({"kind": "Service"})",
                          R"({"kind": "Deployment", "spec": {"template": 3}})"}) {
    std::vector<Json> documents{Json::parse(odd)};
    const auto change = inject_manifest(documents, usual_settings(), true);
    ASSERT_TRUE(change) << odd;
    EXPECT_TRUE(change->changed.empty()) << odd;
    EXPECT_TRUE(restore_manifest(documents).changed.empty()) << odd;
  }
}

}  // namespace
}  // namespace sluice::injector
