#include "platform/kubernetes/io/reconciler.h"

#include "autoscaler/core/share/buckets.h"
#include "tests/unit/platform/kubernetes/io/platform_stage.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace sluice::autoscaler {
namespace {

using kube::testing::chunk;
using kube::testing::json_reply;
using kube::testing::kAllTold;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;
using kube::testing::watch_reply;
using nlohmann::json;

const std::string kScalers = "/apis/autoscaling.sluice.dev/v1alpha1/requestscalers";
const std::string kDeployments = "/apis/apps/v1/deployments";
const std::string kServices = "/api/v1/services";
const std::string kPods = "/api/v1/pods";
const std::string kSlices = "/apis/discovery.k8s.io/v1/endpointslices";
const std::string kSlice = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/";
const std::string kWeb = "/api/v1/namespaces/shop/services/web";
const std::string kScale = "/apis/apps/v1/namespaces/shop/deployments/web/scale";
const std::string kScaler =
    "/apis/autoscaling.sluice.dev/v1alpha1/namespaces/shop/requestscalers/web";

// A server that shows what a test lets it show: of what is written only applied Services and slices
// take effect.
class ReconcilerTest : public testing::PlatformStage {
 protected:
  ReconcilerTest() {
    platform_.set_owned(bucket_names(1), {bucket_names(1)[0]});
    scaler_ = object("web");
    scaler_["spec"]["targetRef"] = {{"kind", "Deployment"}, {"name", "web"}};
    deployment_ = object("web");
    deployment_["spec"] = {{"replicas", 2}, {"selector", {{"matchLabels", {{"app", "web"}}}}}};
    service_ = object("web");
    service_["spec"] = {{"type", "ClusterIP"},
                        {"ports", json::array({{{"name", "http"}, {"port", 80}}})}};
  }

  static json object(const std::string& name) {
    return {{"metadata", {{"name", name}, {"namespace", "shop"}, {"uid", name}}}};
  }

  std::string event(const std::string& type, json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    return json{{"type", type}, {"object", std::move(object)}}.dump() + "\n";
  }

  Reply answer(const Seen& seen) override {
    if (seen.target == "/apis") return json_reply(R"({"groups":[]})");
    if (seen.method != "GET") {
      const bool of_service = seen.target.starts_with("/api/v1/namespaces/shop/services/") ||
                              seen.target.starts_with(kSlice);
      if (of_service && seen.content_type.find("apply") != std::string::npos) {
        show(seen.target.starts_with(kSlice) ? kSlices : kServices, json::parse(seen.body));
      }
      const bool refused = !refused_.empty() && seen.target.starts_with(refused_);
      return refused ? json_reply(R"({"kind":"Status","code":500})", 500) : json_reply("{}");
    }
    const std::string collection = seen.target.substr(0, seen.target.find('?'));
    watches_[collection] = seen.connection;
    std::string events;
    if (collection == kScalers) events = event("ADDED", scaler_);
    if (collection == kDeployments) events = event("ADDED", deployment_);
    if (collection == kServices) events = event("ADDED", service_);
    if (collection == kPods && !pod_.is_null()) events = event("ADDED", pod_);
    return watch_reply(events + std::string{kAllTold});
  }

  // A Service with a selector, which is to be taken over, and a pod with a sidecar behind it.
  void prepare_adoption() {
    service_["spec"]["selector"] = {{"app", "web"}};
    scaler_["spec"]["service"] = {{"adopt", true}};
    scaler_["metadata"]["finalizers"] = {"sluice.dev/service"};
    deployment_["spec"]["replicas"] = 1;
    deployment_["status"] = {{"replicas", 1}, {"readyReplicas", 1}};
    pod_ = object("web-1");
    pod_["metadata"]["labels"] = {{"app", "web"}, {"sluice.dev/sidecar", "queue-proxy"}};
    const json port{{"name", "queue-port"}, {"containerPort", 8012}};
    pod_["spec"]["containers"] = json::array({{{"name", "p"}, {"ports", json::array({port})}}});
    pod_["status"] = {{"phase", "Running"},
                      {"podIP", "10.0.0.1"},
                      {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}};
  }

  // As it stands once it was.
  static json taken_over(json service) {
    const json original{{"scaler", "web"}, {"selector", {{"app", "web"}}}};
    service["metadata"]["annotations"] = {{"sluice.dev/original-service", original.dump()}};
    service["spec"].erase("selector");
    return service;
  }

  void end_scaler() {
    scaler_["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    show(kScalers, scaler_);
  }

  // Until nothing is to be done for a moment.
  void calm_down() {
    while (io_.run_one_for(std::chrono::milliseconds{200}) > 0) {
    }
  }

  [[nodiscard]] bool finalizer_goes() { return written("PATCH", kScaler + "?"); }

  // The object is there now, or is another now.
  void show(const std::string& collection, const json& object) {
    api_.push(watches_.at(collection), chunk(event("MODIFIED", object)));
  }

  [[nodiscard]] bool open() {
    bool settled = false;
    if (platform_.open(listener_, clock_.now(), [&](const auto&) { settled = true; })) return false;
    return run_until(io_, [&] { return settled; });
  }

  // `mark` is written into the status: once it is there the order has been carried out.
  void order(std::int32_t replicas, std::int32_t mark, bool paused = false) {
    ScaleOrder wanted;
    wanted.replicas = replicas;
    wanted.report.desired = mark;
    wanted.report.paused = paused;
    platform_.apply({"shop", "web"}, wanted);
  }

  [[nodiscard]] bool told(std::int32_t mark) {
    return written("PATCH", kScaler + "/status", "\"desired\":" + std::to_string(mark));
  }

  // Bodies of what was written so far.
  [[nodiscard]] std::vector<std::string> bodies(const std::string& method,
                                                const std::string& target) const {
    std::vector<std::string> all;
    for (const Seen& seen : api_.seen()) {
      if (seen.method == method && seen.target.starts_with(target)) all.push_back(seen.body);
    }
    return all;
  }

  [[nodiscard]] bool written(const std::string& method, const std::string& target,
                             const std::string& part = {}) {
    const TimePoint late = clock_.now() + std::chrono::seconds{10};
    const auto there = [&] {
      const auto all = bodies(method, target);
      return std::any_of(all.begin(), all.end(),
                         [&](const auto& each) { return each.find(part) != std::string::npos; });
    };
    return run_until(io_, [&] { return there() || clock_.now() > late; }) && there();
  }

  json scaler_;
  json deployment_;
  json service_;
  json pod_;             // null: there is none
  std::string refused_;  // writes of what begins so fail
  int version_ = 10;
  std::map<std::string, std::size_t> watches_;  // connections by collection
};

TEST_F(ReconcilerTest, WhatRequestsReachWithoutUsIsRaisedAndNotLowered) {
  service_["spec"]["selector"] = {{"app", "web"}};
  ASSERT_TRUE(open());

  order(0, 1);
  ASSERT_TRUE(told(1));
  EXPECT_EQ(bodies("PATCH", kScale).size(), 0U);
  order(3, 2);
  EXPECT_TRUE(written("PATCH", kScale, "\"replicas\":3"));
  order(0, 3);
  ASSERT_TRUE(told(3));
  EXPECT_EQ(bodies("PATCH", kScale).size(), 1U);

  service_["spec"].erase("selector");
  show(kServices, service_);
  EXPECT_TRUE(written("PATCH", kScale, "\"replicas\":0"));
}

TEST_F(ReconcilerTest, NothingIsLoweredWhileTheServiceLacksThePortThatIsToCarryRequests) {
  scaler_["spec"]["service"] = {{"port", "htpp"}};
  ASSERT_TRUE(open());

  order(0, 1);
  ASSERT_TRUE(told(1));
  EXPECT_EQ(bodies("PATCH", kScale).size(), 0U);

  scaler_["spec"]["service"] = {{"port", "http"}};
  show(kScalers, scaler_);
  EXPECT_TRUE(written("PATCH", kScale, "\"replicas\":0"));
}

TEST_F(ReconcilerTest, ANumberThatSomebodyChoseIsWrittenThoughRequestsPassUsBy) {
  service_["spec"]["selector"] = {{"app", "web"}};
  ASSERT_TRUE(open());

  order(0, 1, true);

  EXPECT_TRUE(written("PATCH", kScale, "\"replicas\":0"));
}

TEST_F(ReconcilerTest, PodsThatFailToStartAreOneEventUntilOneIsReady) {
  ASSERT_TRUE(open());
  ScaleOrder wanted;
  wanted.replicas = 2;
  const auto report = [&](std::int32_t mark, const std::string& failure, std::int32_t ready = 0) {
    wanted.report.desired = mark;
    wanted.report.start_failed = failure;
    wanted.report.ready = ready;
    platform_.apply({"shop", "web"}, wanted);
    return told(mark);
  };
  const std::string events = "/api/v1/namespaces/shop/events";

  ASSERT_TRUE(report(1, "exit status 1"));
  EXPECT_TRUE(written("PATCH", kScaler + "/status", "\"StartFailed\""));
  EXPECT_TRUE(written("POST", events, "its pods fail to start: exit status 1"));
  ASSERT_TRUE(report(2, ""));  // the next try runs
  ASSERT_TRUE(report(3, "exit status 1"));
  ASSERT_TRUE(report(4, "", 1));
  EXPECT_EQ(bodies("POST", events).size(), 1U);

  ASSERT_TRUE(report(5, "exit status 1"));
  EXPECT_TRUE(run_until(io_, [&] { return bodies("POST", events).size() == 2; }));
}

TEST_F(ReconcilerTest, AScalerStaysUntilTheTakingOverOfItsServiceShowsAndIsUndone) {
  prepare_adoption();
  ASSERT_TRUE(open());
  ASSERT_TRUE(written("PATCH", kWeb, "original-service"));
  end_scaler();
  calm_down();
  EXPECT_TRUE(bodies("PATCH", kScaler + "?").empty());

  show(kServices, taken_over(service_));
  EXPECT_TRUE(written("PATCH", kWeb, R"("path":"/spec/selector")"));
  calm_down();
  show(kServices, service_);
  EXPECT_TRUE(finalizer_goes());
}

TEST_F(ReconcilerTest, AServiceThatTheScalerNamesNoMoreIsGivenBackAndWaitedFor) {
  prepare_adoption();
  const json before = service_;
  service_ = taken_over(service_);
  ASSERT_TRUE(open());

  scaler_["spec"]["service"] = {{"name", "shop"}, {"adopt", true}};
  show(kScalers, scaler_);
  EXPECT_TRUE(written("PATCH", kWeb, R"("path":"/spec/selector")"));
  end_scaler();
  calm_down();
  EXPECT_TRUE(bodies("PATCH", kScaler + "?").empty());

  show(kServices, before);
  EXPECT_TRUE(finalizer_goes());
}

TEST_F(ReconcilerTest, SlicesDoNotFollowToAServiceThatIsRefused) {
  prepare_adoption();
  service_ = taken_over(service_);
  ASSERT_TRUE(open());
  ASSERT_TRUE(written("PATCH", kSlice, R"("kubernetes.io/service-name":"web")"));

  json other = service_;
  other["metadata"] = object("shop")["metadata"];
  other["spec"]["selector"] = {{"app", "web"}};
  show(kServices, other);
  scaler_["spec"]["service"] = {{"name", "shop"}};
  show(kScalers, scaler_);

  EXPECT_TRUE(written("DELETE", kSlice));
  EXPECT_TRUE(bodies("PATCH", kSlice).back().find(R"("kubernetes.io/service-name":"shop")") ==
              std::string::npos);
}

TEST_F(ReconcilerTest, ASweepThatFailsIsMadeAgainUntilItIsDone) {
  prepare_adoption();
  service_ = taken_over(service_);
  refused_ = kSlice.substr(0, kSlice.size() - 1) + "?labelSelector";
  ASSERT_TRUE(open());
  const TimePoint late = clock_.now() + std::chrono::seconds{8};
  const auto tries = [this] { return bodies("DELETE", refused_).size(); };

  EXPECT_TRUE(run_until(io_, [&] { return tries() >= 3 || clock_.now() > late; }));

  EXPECT_GE(tries(), 3U);
  EXPECT_EQ(bodies("DELETE", "/api/v1/namespaces/shop/endpoints/web").size(), 1U);
}

}  // namespace
}  // namespace sluice::autoscaler
