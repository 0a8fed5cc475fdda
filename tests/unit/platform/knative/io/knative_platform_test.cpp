#include "platform/knative/io/knative_platform.h"

#include "common/loop/asio_loop.h"
#include "common/metrics/exposition.h"
#include "tests/unit/common/kube/fake_api.h"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::autoscaler {
namespace {

using kube::testing::chunk;
using kube::testing::FakeApi;
using kube::testing::json_reply;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;
using kube::testing::watch_reply;
using nlohmann::json;

const RevisionId kId{"shop", "web-00001"};

constexpr const char* kObjects = "/apis/autoscaling.internal.knative.dev/v1alpha1/podautoscalers";
constexpr const char* kStatus =
    "/apis/autoscaling.internal.knative.dev/v1alpha1/namespaces/shop/podautoscalers/web-00001/"
    "status";
constexpr const char* kServerless =
    "/apis/networking.internal.knative.dev/v1alpha1/namespaces/shop/serverlessservices";
constexpr const char* kAllServerless =
    "/apis/networking.internal.knative.dev/v1alpha1/serverlessservices";
constexpr const char* kScale =
    "/apis/apps/v1/namespaces/shop/deployments/web-00001-deployment/scale";

/// Knative's objects as an API server keeps them; every watch stays silent.
class Cluster {
 public:
  Reply answer(const Seen& seen) {
    if (seen.method != "GET") return written(seen);
    if (seen.target == "/apis") {
      return json_reply(there ? R"({"groups":[{"name":"autoscaling.internal.knative.dev"}]})"
                              : R"({"groups":[]})");
    }
    if (seen.target.find("watch=1") != std::string::npos) {
      // Streaming lists are an extension that this server does not have.
      if (seen.target.find("sendInitialEvents") != std::string::npos) {
        return json_reply(R"({"kind":"Status","code":422,"reason":"Invalid"})", 422);
      }
      return watch_reply();
    }
    json items = json::array();
    if (seen.target.starts_with(kObjects)) items.push_back(object);
    if (seen.target.starts_with(kAllServerless) && !serverless.empty()) items.push_back(serverless);
    if (seen.target.starts_with("/apis/apps/v1/deployments")) items.push_back(deployment);
    return json_reply(json{{"metadata", {{"resourceVersion", "9"}}}, {"items", items}}.dump());
  }

  bool there = true;
  json object{
      {"metadata",
       {{"name", "web-00001"},
        {"namespace", "shop"},
        {"uid", "u1"},
        {"resourceVersion", "3"},
        {"annotations", {{"autoscaling.knative.dev/class", "kpa.sluice.dev"}}}}},
      {"spec",
       {{"scaleTargetRef",
         {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "web-00001-deployment"}}}}},
      {"status", {{"desiredScale", 1}}}};
  json deployment{
      {"metadata",
       {{"name", "web-00001-deployment"},
        {"namespace", "shop"},
        {"uid", "u3"},
        {"resourceVersion", "4"}}},
      {"spec",
       {{"replicas", 1},
        {"selector", {{"matchLabels", {{"app", "web"}}}}},
        {"template",
         {{"metadata", {{"labels", {{"serving.knative.dev/revision", "web-00001"}}}}}}}}}};
  json serverless = json::object();
  std::map<std::string, json> writes;  // by path, the newest
  std::map<std::string, int> refused;  // by path, how many writes more
  std::string busy;                    // path whose writes must wait

 private:
  Reply written(const Seen& seen) {
    if (seen.target == busy) {
      return json_reply(R"({"kind":"Status","code":429})", 429, "Retry-After: 8\r\n");
    }
    const auto found = refused.find(seen.target);
    if (found != refused.end() && found->second-- > 0) {
      return json_reply(R"({"kind":"Status","code":500,"reason":"InternalError"})", 500);
    }
    writes[seen.target] = json::parse(seen.body);
    return json_reply(seen.body);
  }
};

/// Records what is reported to it.
class Listener final : public model::Listener {
 public:
  void on_revision(model::Revision revision) override { told.push_back(std::move(revision)); }

  void on_revision_gone(const RevisionId& revision) override { gone.push_back(revision); }

  void on_revision_released(const RevisionId& revision) override { released.push_back(revision); }

  std::optional<Problem> on_config(const StringMap& /*config*/) override { return std::nullopt; }

  std::vector<model::Revision> told;
  std::vector<RevisionId> gone;
  std::vector<RevisionId> released;
};

class KnativePlatformTest : public ::testing::Test {
 protected:
  void start(bool shadow = false) {
    client = *kube::Client::make(io, clock, log, api.access());
    const kube::Place place{io, clock, random, log, *client};
    objects = std::make_unique<ClusterObjects>(place);
    objects->start();
    platform = std::make_unique<KnativePlatform>(
        ClusterGround{.place = place,
                      .loop = loop,
                      .objects = *objects,
                      .config = config,
                      .owns = [this](const RevisionId&) { return owned; },
                      .confirm = [] {}},
        KnativePlatform::Rules{.taken = [this](const RevisionId&) { return taken; },
                               .shadow = shadow});
    EXPECT_FALSE(platform->open(listener, clock.now(), [this](const auto&) { ++settled; }));
  }

  [[nodiscard]] bool told() {
    return run_until(io, [this] { return !listener.told.empty(); });
  }

  [[nodiscard]] bool wrote(const std::string& path) {
    return run_until(io, [&] { return cluster.writes.contains(path); });
  }

  // On the watch of PodAutoscalers, once that stands.
  void tell(const char* type) {
    const auto watch = [this] {
      return std::find_if(api.seen().begin(), api.seen().end(), [](const Seen& seen) {
        return seen.target.starts_with(kObjects) &&
               seen.target.find("watch=1") != std::string::npos &&
               seen.target.find("sendInitialEvents") == std::string::npos;
      });
    };
    ASSERT_TRUE(run_until(io, [&] { return watch() != api.seen().end(); }));
    cluster.object["metadata"]["resourceVersion"] = "12";
    const json event{{"type", type}, {"object", cluster.object}};
    api.push(watch()->connection, chunk(event.dump() + "\n"));
  }

  static ScaleOrder order(std::int32_t replicas) {
    ScaleOrder order;
    order.replicas = replicas;
    order.report.desired = replicas;
    order.report.activity = Activity::active;
    return order;
  }

  boost::asio::io_context io;
  Clock clock;
  AsioLoop loop{io, clock};
  log::Logger log{"test", log::Severity::error};
  std::mt19937_64 random{1};
  Cluster cluster;
  FakeApi api{io, [this](const Seen& seen) { return cluster.answer(seen); }};
  Listener listener;
  bool owned = true;
  bool taken = false;
  ClusterConfig config;
  std::unique_ptr<kube::Client> client;
  int settled = 0;
  std::unique_ptr<ClusterObjects> objects;
  std::unique_ptr<KnativePlatform> platform;
};

TEST_F(KnativePlatformTest, WithoutKnativeNothingIsFollowedAndNothingWaitedFor) {
  cluster.there = false;
  start();
  ASSERT_TRUE(run_until(io, [this] { return settled == 1; }));
  EXPECT_EQ(api.count("GET", kObjects), 0U);
  EXPECT_TRUE(platform->wrong().empty());
}

TEST_F(KnativePlatformTest, ARevisionOfOurClassIsReportedWithItsReplicas) {
  start();
  ASSERT_TRUE(told());
  EXPECT_EQ(settled, 1) << "its revisions are known before they are reported";
  EXPECT_EQ(listener.told[0].id, kId);
  EXPECT_TRUE(platform->governs(kId));
  EXPECT_TRUE(platform->scales(kId));
  EXPECT_EQ(platform->last(kId)->replicas, 1);
}

TEST_F(KnativePlatformTest, WhatAReplicaMayTakeIncludesKnativesSidecarOfTheTemplate) {
  cluster.deployment["spec"]["template"]["spec"] = json::parse(
      R"({"containers":[{"name":"user-container","resources":{"limits":{"memory":"256Mi"},)"
      R"("requests":{"cpu":"100m"}}},{"name":"queue-proxy","resources":{"requests":{"cpu":"25m"}}}]})");
  start();
  ASSERT_TRUE(told());
  EXPECT_EQ(listener.told[0].claim_memory, 256 << 20);
  EXPECT_EQ(listener.told[0].claim_cpu, 125);
}

TEST_F(KnativePlatformTest, ItsServerlessServiceAndItsStatusAreWritten) {
  start();
  ASSERT_TRUE(wrote(kServerless));
  ASSERT_TRUE(wrote(kStatus));
  EXPECT_EQ(cluster.writes[kServerless]["spec"]["mode"], "Proxy");
  EXPECT_EQ(cluster.writes[kStatus]["metadata"]["uid"], "u1");
}

TEST_F(KnativePlatformTest, AnOrderIsWrittenToTheScaleOfItsTarget) {
  start();
  ASSERT_TRUE(told());
  platform->apply(kId, order(4));
  ASSERT_TRUE(wrote(kScale));
  EXPECT_EQ(cluster.writes[kScale]["spec"]["replicas"], 4);
  EXPECT_EQ(cluster.writes[kScale]["metadata"]["uid"], "u3");
}

TEST_F(KnativePlatformTest, AWriteThatFailsIsMadeAgain) {
  cluster.refused[kScale] = 1;
  start();
  ASSERT_TRUE(told());
  platform->apply(kId, order(4));
  ASSERT_TRUE(wrote(kScale));
  EXPECT_EQ(cluster.writes[kScale]["spec"]["replicas"], 4);
  EXPECT_EQ(api.count("PATCH", kScale), 2U);
}

TEST_F(KnativePlatformTest, AWakeDoesNotWaitBehindDelayedWrites) {
  cluster.deployment["spec"]["replicas"] = 0;
  cluster.busy = kStatus;
  start();
  ASSERT_TRUE(run_until(io, [this] { return api.count("PATCH", kStatus) == 1; }));
  platform->apply(kId, order(1));
  ASSERT_TRUE(wrote(kScale));
  EXPECT_EQ(cluster.writes[kScale]["spec"]["replicas"], 1);
  EXPECT_EQ(api.count("PATCH", kStatus), 1U);
}

TEST_F(KnativePlatformTest, AServerlessServiceOfAnotherOwnerIsNeitherMadeNorCorrected) {
  cluster.serverless = {{"metadata",
                         {{"name", "web-00001"},
                          {"namespace", "shop"},
                          {"uid", "u2"},
                          {"resourceVersion", "5"},
                          {"ownerReferences", json::array({{{"kind", "PodAutoscaler"},
                                                            {"name", "web-00001"},
                                                            {"uid", "another"},
                                                            {"controller", true}}})}}},
                        {"spec", {{"mode", "Serve"}}}};
  start();
  ASSERT_TRUE(wrote(kStatus));
  EXPECT_EQ(cluster.writes[kStatus]["status"]["conditions"][0]["reason"], "NotOwned");
  EXPECT_FALSE(cluster.writes.contains(kServerless));
  EXPECT_FALSE(cluster.writes.contains(std::string{kServerless} + "/web-00001"));
}

TEST_F(KnativePlatformTest, ARevisionIsDroppedWithItsPodAutoscaler) {
  start();
  ASSERT_TRUE(told());
  tell("DELETED");
  ASSERT_TRUE(run_until(io, [this] { return !listener.gone.empty(); }));
  EXPECT_EQ(listener.gone, std::vector<RevisionId>{kId});
  EXPECT_FALSE(platform->governs(kId));
  platform->apply(kId, order(4));
  io.poll();
  EXPECT_EQ(api.count("PATCH", kScale), 0U);
}

TEST_F(KnativePlatformTest, AChangedClassGivesARevisionToKnative) {
  start();
  ASSERT_TRUE(told());
  cluster.object["metadata"]["annotations"]["autoscaling.knative.dev/class"] = kKnativeClass;
  tell("MODIFIED");
  ASSERT_TRUE(run_until(io, [this] { return !listener.gone.empty(); }));
  EXPECT_FALSE(platform->governs(kId));
  EXPECT_FALSE(platform->scales(kId));
  EXPECT_TRUE(listener.released.empty()) << "no replica of ours continues it";
}

TEST_F(KnativePlatformTest, MakesNoCallbackOnceItIsDestroyed) {
  start();
  ASSERT_TRUE(wrote(kStatus));
  platform->apply(kId, order(4));
  // Its timer has expired by then, and its turn is still to come.
  boost::asio::post(io, [this] {
    platform.reset();
    objects.reset();
  });
  io.poll();
  EXPECT_EQ(platform, nullptr);
  EXPECT_EQ(api.count("PATCH", kScale), 0U);
}

TEST_F(KnativePlatformTest, AnotherClassIsLeftToKnative) {
  cluster.object["metadata"]["annotations"]["autoscaling.knative.dev/class"] = kKnativeClass;
  start();
  ASSERT_TRUE(
      run_until(io, [this] { return platform->wrong().empty() && api.connections() >= 5; }));
  EXPECT_FALSE(platform->governs(kId));
  EXPECT_FALSE(platform->scales(kId));
  EXPECT_TRUE(cluster.writes.empty());
}

TEST_F(KnativePlatformTest, WithoutAClassTheClustersDefaultDecides) {
  cluster.object["metadata"]["annotations"] = json::object();
  start();
  config.pod_autoscaler_class = kOurClass;
  platform->config_changed();
  EXPECT_TRUE(told());
}

TEST_F(KnativePlatformTest, ARevisionThatAnotherReplicaOwnsIsReleased) {
  start();
  ASSERT_TRUE(told());
  owned = false;
  platform->owners_changed();
  EXPECT_EQ(listener.released, std::vector<RevisionId>{kId});
  EXPECT_FALSE(platform->governs(kId));
  EXPECT_TRUE(platform->scales(kId)) << "some replica of ours does";
}

TEST_F(KnativePlatformTest, ARequestScalerOfThatNameComesFirst) {
  start();
  ASSERT_TRUE(told());
  taken = true;
  platform->yield(kId);
  platform->owners_changed();
  EXPECT_EQ(listener.gone, std::vector<RevisionId>{kId});
  EXPECT_FALSE(platform->governs(kId));
}

TEST_F(KnativePlatformTest, ARevisionIsScaledHereAgainOnceItsRequestScalerIsDeleted) {
  start();
  ASSERT_TRUE(told());
  taken = true;
  platform->yield(kId);
  ASSERT_FALSE(platform->governs(kId));

  taken = false;
  platform->take_back(kId);

  EXPECT_TRUE(platform->governs(kId));
}

TEST_F(KnativePlatformTest, AShadowReportsEveryClassComparesAndWritesNothing) {
  cluster.object["metadata"]["annotations"]["autoscaling.knative.dev/class"] = kKnativeClass;
  start(true);
  ASSERT_TRUE(told());
  EXPECT_FALSE(platform->scales(kId)) << "Knative does";

  platform->apply(kId, order(4));
  ASSERT_NE(platform->shadow().find(kId), nullptr);
  EXPECT_EQ(platform->shadow().find(kId)->ours, 4);
  EXPECT_EQ(platform->shadow().find(kId)->theirs, 1);
  EXPECT_EQ(platform->shadow().counts().differences, 1U);
  io.poll();
  EXPECT_TRUE(cluster.writes.empty());
  std::string text;
  metrics::Exposition page{text};
  platform->write_metrics(page);
  EXPECT_NE(text.find("sluice_shadow_differences_total 1\n"), std::string::npos) << text;
}

TEST_F(KnativePlatformTest, WithoutAPublicServiceAProbeFails) {
  start();
  ASSERT_TRUE(told());
  std::optional<bool> ok;
  platform->probe(kId, [&ok](bool answer) { ok = answer; });
  ASSERT_TRUE(run_until(io, [&ok] { return ok.has_value(); }));
  EXPECT_FALSE(*ok);
}

}  // namespace
}  // namespace sluice::autoscaler
