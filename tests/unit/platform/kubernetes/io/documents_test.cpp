#include "platform/kubernetes/io/documents.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

const ScalerRef kWeb{{"shop", "web"}, "uid-1"};

kube::Service service() {
  kube::Service made;
  made.resource_version = "42";
  made.selector = {{"app", "web"}};
  made.ports = {{"http", 80, "http", "", "TCP"}, {"extra", 81, "8081", "", "TCP"}};
  return made;
}

TEST(Documents, ScalingNamesTheUidOfTheObjectThatWasRead) {
  const auto request = scale_request(workload_path("Deployment", {"shop", "web"}), "u", 1, 3);

  EXPECT_EQ(request.path, "/apis/apps/v1/namespaces/shop/deployments/web/scale");
  EXPECT_EQ(request.verb, kube::Verb::merge_patch);
  EXPECT_EQ(json::parse(request.body),
            json::parse(R"({"metadata":{"uid":"u"},"spec":{"replicas":3}})"));
}

// api-server.md 2, rows L5 and L9.
TEST(Documents, AWakeHasALaneOfItsOwnAndGrowthGoesBeforeShrinking) {
  const std::string web = workload_path("Deployment", {"shop", "web"});

  EXPECT_EQ(scale_request(web, "u", 0, 1).lane, kube::Lane::urgent);
  EXPECT_EQ(scale_request(web, "u", 1, 3).lane, kube::Lane::normal);
  EXPECT_TRUE(scale_request(web, "u", 1, 3).first);
  EXPECT_FALSE(scale_request(web, "u", 3, 1).first);
}

TEST(Documents, AnAdoptedServiceRecordsItsOriginalAndGetsItBack) {
  const kube::Service before = service();
  const json adopted = json::parse(adopt_front_request(kWeb.id, "web", before).body);
  EXPECT_TRUE(adopted["spec"]["selector"].is_null());
  EXPECT_EQ(adopted["metadata"]["resourceVersion"], "42");

  kube::Service now = before;
  now.selector.clear();
  now.ports[1].target_port = "queue-port";
  now.annotations.emplace(kOriginalService,
                          adopted["metadata"]["annotations"]["sluice.dev/original-service"]);
  const auto original = read_original(now);
  ASSERT_TRUE(original.has_value());
  EXPECT_EQ(original->scaler, "web");
  EXPECT_EQ(original->selector, before.selector);

  const json steps = json::parse(restore_front_request({"shop", "web"}, now, *original).body);
  EXPECT_EQ(steps, json::parse(R"([
    {"op":"test","path":"/metadata/resourceVersion","value":"42"},
    {"op":"add","path":"/spec/selector","value":{"app":"web"}},
    {"op":"replace","path":"/spec/ports/1/targetPort","value":8081},
    {"op":"remove","path":"/metadata/annotations/sluice.dev~1original-service"}])"));
}

TEST(Documents, ASelectorSetByAnotherWriterIsNotOverwritten) {
  kube::Service now = service();
  const json steps =
      json::parse(restore_front_request({"shop", "web"}, now, {"web", {{"app", "old"}}, {}}).body);
  EXPECT_EQ(steps.size(), 2U);
}

TEST(Documents, AMalformedAnnotationCountsAsAbsent) {
  kube::Service front;
  EXPECT_FALSE(read_original(front));
  for (const char* text : {"", "[]", "{", R"({"scaler":1})"}) {
    front.annotations.insert_or_assign(std::string{kOriginalService}, text);
    EXPECT_FALSE(read_original(front)) << text;
  }
  front.annotations.insert_or_assign(std::string{kOriginalService},
                                     R"({"scaler":"w","selector":7,"ports":[1,{"port":"x"}]})");
  EXPECT_TRUE(read_original(front)->ports.empty());
}

TEST(Documents, PortsKeepTheirProtocol) {
  const RoutedSlice slice{"web-sluice-0", "IPv4", {{"http", 80, ""}, {"dns", 53, "", "UDP"}}, {}};
  const json ports = json::parse(apply_slice_request(kWeb, "web", slice).body)["ports"];
  EXPECT_EQ(ports[0]["protocol"], "TCP");
  EXPECT_EQ(ports[1]["protocol"], "UDP");

  const auto front = correct_front_request({"shop", "web"}, {{"dns", 53, "dns", "", "UDP"}});
  EXPECT_EQ(json::parse(front.body)["spec"]["ports"][0]["protocol"], "UDP");
}

TEST(Documents, AStatusOmitsUnknownFields) {
  ScalerStatus status;
  status.values.activator_port = 20'001;
  status.values.ready = 0;

  const json body = json::parse(status_request(kWeb, status).body)["status"];

  EXPECT_TRUE(body["desired"].is_null());
  EXPECT_EQ(body["ready"], 0);
  EXPECT_EQ(body["activatorPort"], 20'001);
  EXPECT_FALSE(body.contains("selector"));
}

TEST(Documents, FinalizersOfOthersStay) {
  const auto request = finalizer_request(kWeb, true);
  EXPECT_EQ(request.verb, kube::Verb::apply_force);
  const json body = json::parse(request.body);
  EXPECT_EQ(body["metadata"]["finalizers"], json::array({"sluice.dev/service"}));
  EXPECT_EQ(body["metadata"]["uid"], "uid-1");
  EXPECT_FALSE(json::parse(finalizer_request(kWeb, false).body)["metadata"].contains("finalizers"));
}

TEST(Documents, AnEventHasItsCountAndItsObject) {
  ScalerEvent event;
  event.scaler = kWeb.id;
  event.uid = kWeb.uid;
  event.reason = "ScaledUp";
  event.message = std::string(5000, 'm');
  event.count = 4;

  const json body = json::parse(event_request(event, "autoscaler-a").body);

  EXPECT_EQ(body["count"], 4);
  EXPECT_EQ(body["involvedObject"]["uid"], "uid-1");
  EXPECT_EQ(body["type"], "Normal");
  EXPECT_LE(body["message"].get<std::string>().size(), 1024U);
}

}  // namespace
}  // namespace sluice::autoscaler
