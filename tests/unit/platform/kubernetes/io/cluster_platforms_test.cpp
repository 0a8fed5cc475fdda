#include "platform/kubernetes/io/cluster_platforms.h"

#include "tests/unit/platform/kubernetes/io/platform_stage.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
using testing::kDeployments;
using testing::kPods;
using testing::kScalers;
using testing::kServices;

const RevisionId kWeb{"shop", "web"};

constexpr const char* kConfigMaps = "/api/v1/namespaces/sluice-system/configmaps";
constexpr const char* kPodAutoscalers =
    "/apis/autoscaling.internal.knative.dev/v1alpha1/podautoscalers";

json metadata(const std::string& name) {
  return {{"name", name}, {"namespace", "shop"}, {"uid", name}, {"resourceVersion", "5"}};
}

// Two Deployments: web of 2 replicas, which a RequestScaler of that name names, and web-deployment
// of 7, which the PodAutoscaler of the same name does.
class ClusterPlatformsTest : public testing::PlatformStage {
 protected:
  ClusterPlatformsTest() {
    all_[kScalers] = {{{"metadata", metadata("web")},
                       {"spec", {{"targetRef", {{"kind", "Deployment"}, {"name", "web"}}}}}}};
    json object{
        {"metadata", metadata("web")},
        {"spec", {{"scaleTargetRef", {{"kind", "Deployment"}, {"name", "web-deployment"}}}}}};
    object["metadata"]["annotations"] = {{"autoscaling.knative.dev/class", "kpa.sluice.dev"}};
    all_[kPodAutoscalers] = {object};
    const json labels{{"labels", {{"serving.knative.dev/revision", "web"}}}};
    all_[kDeployments] = {{{"metadata", metadata("web")}, {"spec", {{"replicas", 2}}}},
                          {{"metadata", metadata("web-deployment")},
                           {"spec", {{"replicas", 7}, {"template", {{"metadata", labels}}}}}}};
  }

  Reply answer(const Seen& seen) override {
    if (seen.target == "/apis") {
      return json_reply(R"({"groups":[{"name":"autoscaling.internal.knative.dev"}]})");
    }
    if (seen.method != "GET") return json_reply("{}");
    const std::string path = seen.target.substr(0, seen.target.find('?'));
    watches_[path] = seen.connection;
    ++followed_[path];
    std::string events;
    for (const json& object : all_[path]) events += event("ADDED", object);
    return watch_reply(events + std::string{kAllTold});
  }

  static std::string event(const std::string& type, const json& object) {
    return json{{"type", type}, {"object", object}}.dump() + "\n";
  }

  [[nodiscard]] std::optional<Problem> open() {
    std::optional<Problem> wrong;
    bool settled = false;
    EXPECT_FALSE(platform_.open(listener_, clock_.now(), [&](const auto& problem) {
      wrong = problem;
      settled = true;
    }));
    EXPECT_TRUE(run_until(io_, [&] { return settled; }));
    return wrong;
  }

  [[nodiscard]] bool last_is(std::int32_t replicas) {
    return run_until(io_, [&] {
      const auto last = platform_.last(kWeb);
      return last && last->replicas == replicas;
    });
  }

  std::map<std::string, std::vector<json>> all_;  // by the path of their collection
  std::map<std::string, std::size_t> watches_;    // the connections
  std::map<std::string, int> followed_;           // how often
};

TEST_F(ClusterPlatformsTest, OfOneNameTheRequestScalerWinsUntilItIsDeleted) {
  EXPECT_FALSE(open());
  EXPECT_TRUE(last_is(2));
  EXPECT_TRUE(platform_.scales(kWeb));
  EXPECT_FALSE(platform_.is_knative(kWeb));

  api_.push(watches_[kScalers], chunk(event("DELETED", all_[kScalers][0])));

  EXPECT_TRUE(last_is(7));
  EXPECT_TRUE(platform_.scales(kWeb));
  EXPECT_TRUE(platform_.is_knative(kWeb));
}

TEST_F(ClusterPlatformsTest, ARequestScalerThatComesLaterTakesTheNameFromKnative) {
  const json scaler = all_[kScalers][0];
  all_[kScalers].clear();
  EXPECT_FALSE(open());
  ASSERT_TRUE(last_is(7));

  api_.push(watches_[kScalers], chunk(event("ADDED", scaler)));

  EXPECT_TRUE(last_is(2));
}

TEST_F(ClusterPlatformsTest, ObjectsThatBothPlatformsReadAreFollowedOnce) {
  EXPECT_FALSE(open());
  ASSERT_TRUE(run_until(io_, [this] { return followed_[kPodAutoscalers] > 0; }));
  ASSERT_TRUE(run_until(io_, [this] { return platform_.wrong().empty(); }));
  EXPECT_EQ(followed_[kDeployments], 1);
  EXPECT_EQ(followed_[kServices], 1);
  EXPECT_EQ(followed_[kPods], 2) << "by two labels";
}

TEST_F(ClusterPlatformsTest, AConfigurationThatIsWrongEndsTheStart) {
  json config{{"metadata", metadata("config-autoscaler")}, {"data", {{"stable-window", "soon"}}}};
  all_[kConfigMaps] = {config};
  const auto wrong = open();
  ASSERT_TRUE(wrong);
  EXPECT_TRUE(wrong->what.starts_with("config-autoscaler: ")) << wrong->what;
  EXPECT_TRUE(platform_.wrong().back().starts_with("config-autoscaler: "));
}

}  // namespace
}  // namespace sluice::autoscaler
