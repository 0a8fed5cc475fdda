#include "platform/knative/core/pod_autoscaler_plan.h"

#include "common/scaling/annotations.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using Step = ServerlessWish::Step;

constexpr TimePoint kNow{std::chrono::seconds{1'800'000'000}};
constexpr const char* kBefore = "2026-01-01T00:00:00Z";
constexpr const char* kAtNow = "2027-01-15T08:00:00Z";

// A revision of Knative's with one ready pod, whose ServerlessService is in order.
class PodAutoscalerPlanTest : public ::testing::Test {
 protected:
  PodAutoscalerPlanTest() {
    object_.uid = "uid-1";
    object_.generation = 3;
    object_.annotations = {{"autoscaling.knative.dev/class", "kpa.sluice.dev"}};
    object_.target = {"apps/v1", "Deployment", "hello-00001-deployment"};
    object_.protocol = "http1";
    object_.status.service_name = "hello-00001";
    object_.status.conditions = {{"Active", "True", "", "", kBefore, 0},
                                 {"ScaleTargetInitialized", "True", "", "", kBefore, 0}};
    serverless_.owner = {"PodAutoscaler", "hello-00001", "uid-1"};
    serverless_.mode = "Proxy";
    serverless_.activators = 2;
    serverless_.target = object_.target;
    serverless_.protocol = "http1";
    serverless_.service_name = "hello-00001";
    serverless_.private_name = "hello-00001-private";
    serverless_.ready = true;
    order_.replicas = 1;
    order_.report.desired = 1;
    order_.report.activity = Activity::active;
    target_.replicas = 1;
  }

  [[nodiscard]] PodAutoscalerSight sight() const {
    PodAutoscalerSight sight;
    sight.object = &object_;
    sight.serverless = has_serverless_ ? &serverless_ : nullptr;
    sight.target = &target_;
    sight.order = has_order_ ? &order_ : nullptr;
    sight.ready = ready_;
    sight.scaling = resolve(config_, scaling_annotations(object_), 0, object_.reachability);
    return sight;
  }

  // "Active=True Ready=Unknown/Queued ...", in the order that is written.
  [[nodiscard]] std::string conditions() const {
    std::string text;
    for (const auto& each : plan_status(sight(), kNow).conditions) {
      text += (text.empty() ? "" : " ") + each.type + "=" + each.status;
      if (!each.reason.empty()) text += "/" + each.reason;
    }
    return text;
  }

  void was(const std::string& active) { object_.status.conditions[0].status = active; }

  ClusterConfig config_;
  PodAutoscaler object_;
  ServerlessObject serverless_;
  kube::Workload target_;
  ScaleOrder order_;
  bool has_serverless_ = true;
  bool has_order_ = true;
  std::int32_t ready_ = 1;
};

TEST_F(PodAutoscalerPlanTest, ObjectsThatNameOurClassAreOurs) {
  EXPECT_TRUE(is_ours(object_, config_));
  object_.annotations["autoscaling.knative.dev/class"] = kKnativeClass;
  EXPECT_FALSE(is_ours(object_, config_));
  object_.annotations["autoscaling.knative.dev/class"] = kHorizontalClass;
  EXPECT_FALSE(is_ours(object_, config_));
}

TEST_F(PodAutoscalerPlanTest, WithoutAClassItIsOursOnlyWhereOursIsTheDefault) {
  object_.annotations.clear();
  EXPECT_FALSE(is_ours(object_, config_));
  config_.pod_autoscaler_class = kOurClass;
  EXPECT_TRUE(is_ours(object_, config_));
}

TEST_F(PodAutoscalerPlanTest, AnEmptyMetricIsNone) {
  object_.annotations["autoscaling.knative.dev/metric"] = "";
  EXPECT_FALSE(scaling_annotations(object_).contains("autoscaling.knative.dev/metric"));
  object_.annotations["autoscaling.knative.dev/metric"] = "rps";
  EXPECT_EQ(scaling_annotations(object_).at("autoscaling.knative.dev/metric"), "rps");
}

TEST_F(PodAutoscalerPlanTest, AnInitialScaleThatWasReachedIsNotReachedAgain) {
  object_.annotations["autoscaling.knative.dev/initialScale"] = "5";
  const StringMap reached = scaling_annotations(object_);
  EXPECT_FALSE(reached.contains("autoscaling.knative.dev/initialScale"));
  EXPECT_EQ(reached.at("autoscaling.knative.dev/initial-scale"), "1");

  object_.status.conditions.clear();
  EXPECT_EQ(scaling_annotations(object_), object_.annotations);
}

TEST_F(PodAutoscalerPlanTest, AServerlessServiceIsMadeProxiedByTwo) {
  has_serverless_ = false;
  order_.route_mode = RouteMode::serve;
  EXPECT_EQ(plan_serverless(sight()), (ServerlessWish{Step::create, RouteMode::proxy, 2}));
}

TEST_F(PodAutoscalerPlanTest, ACorrectServerlessServiceIsLeftUnchanged) {
  EXPECT_EQ(plan_serverless(sight()).step, Step::nothing);
}

TEST_F(PodAutoscalerPlanTest, ItServesAsOrderedOnceItHasAPrivateService) {
  order_.route_mode = RouteMode::serve;
  order_.activators = 4;
  EXPECT_EQ(plan_serverless(sight()), (ServerlessWish{Step::correct, RouteMode::serve, 4}));

  serverless_.private_name.clear();
  EXPECT_EQ(plan_serverless(sight()), (ServerlessWish{Step::nothing, RouteMode::proxy, 2}));
}

TEST_F(PodAutoscalerPlanTest, WithoutAnOrderThePresentModeStays) {
  has_order_ = false;
  serverless_.mode = "Serve";
  serverless_.activators = 7;
  EXPECT_EQ(plan_serverless(sight()).step, Step::nothing);
}

TEST_F(PodAutoscalerPlanTest, AChangedTargetOrProtocolIsCopied) {
  serverless_.protocol = "h2c";
  EXPECT_EQ(plan_serverless(sight()).step, Step::correct);
}

TEST_F(PodAutoscalerPlanTest, AServerlessServiceOfAnotherOwnerIsLeftUnchanged) {
  serverless_.owner.uid = "uid-2";
  EXPECT_EQ(plan_serverless(sight()).step, Step::not_owned);
  EXPECT_EQ(conditions(),
            "Active=False/NotOwned Ready=False/NotOwned SKSReady=Unknown/NotReady "
            "ScaleTargetInitialized=True");
}

TEST_F(PodAutoscalerPlanTest, ATerminatingObjectIsNotWritten) {
  object_.terminating = true;
  has_serverless_ = false;
  order_.replicas = 5;
  EXPECT_EQ(plan_serverless(sight()).step, Step::nothing);
  EXPECT_EQ(plan_target(sight()), std::nullopt);
}

TEST_F(PodAutoscalerPlanTest, ReplicasAreWrittenWhereTheyDiffer) {
  EXPECT_EQ(plan_target(sight()), std::nullopt);
  order_.replicas = 3;
  EXPECT_EQ(plan_target(sight()), 3);
  has_order_ = false;
  EXPECT_EQ(plan_target(sight()), std::nullopt);
}

TEST_F(PodAutoscalerPlanTest, AllIsWellWithAReadyPod) {
  EXPECT_EQ(conditions(), "Active=True Ready=True SKSReady=True ScaleTargetInitialized=True");
  const auto status = plan_status(sight(), kNow);
  EXPECT_EQ(status.observed_generation, 3);
  EXPECT_EQ(status.metrics_service_name, "hello-00001-private");
  EXPECT_EQ(status.desired, 1);
  EXPECT_EQ(status.actual, 1);
}

TEST_F(PodAutoscalerPlanTest, ASteadyRevisionIsWrittenOnce) {
  object_.status = plan_status(sight(), kNow);
  EXPECT_EQ(plan_status(sight(), kNow + std::chrono::hours{1}), object_.status);
}

TEST_F(PodAutoscalerPlanTest, AConditionKeepsItsTimeUntilItChanges) {
  ready_ = 0;
  const auto status = plan_status(sight(), kNow);
  EXPECT_EQ(find_condition(status.conditions, "Active")->last_transition_time, kAtNow);
  EXPECT_EQ(find_condition(status.conditions, "ScaleTargetInitialized")->last_transition_time,
            kBefore);
}

TEST_F(PodAutoscalerPlanTest, StartingPodsLeaveRequestsQueued) {
  ready_ = 0;
  order_.report.activity = Activity::activating;
  EXPECT_EQ(conditions(),
            "Active=Unknown/Queued Ready=Unknown/Queued SKSReady=True ScaleTargetInitialized=True");
}

TEST_F(PodAutoscalerPlanTest, ADesiredZeroIsNotWrittenWhileItActivates) {
  ready_ = 0;
  order_.report.activity = Activity::activating;
  order_.report.desired = 0;
  object_.status.desired = 3;
  was("Unknown");
  EXPECT_EQ(conditions(),
            "Active=Unknown/Queued Ready=Unknown/Queued SKSReady=True ScaleTargetInitialized=True");
  EXPECT_EQ(plan_status(sight(), kNow).desired, 3);
}

TEST_F(PodAutoscalerPlanTest, InactiveDesiresZeroWhileTheLastPodStillRuns) {
  order_.report.activity = Activity::inactive;
  EXPECT_EQ(conditions(),
            "Active=False/NoTraffic Ready=False/NoTraffic SKSReady=True "
            "ScaleTargetInitialized=True");
  EXPECT_EQ(plan_status(sight(), kNow).desired, 0);
}

TEST_F(PodAutoscalerPlanTest, PodsThatNeverStartAreReportedAsTimedOut) {
  was("Unknown");
  ready_ = 0;
  order_.report.activity = Activity::inactive;
  EXPECT_EQ(conditions().substr(0, 21), "Active=False/TimedOut");
}

TEST_F(PodAutoscalerPlanTest, ItIsInitializedOnceItsScaleWasReached) {
  object_.status.conditions.clear();
  object_.annotations["autoscaling.knative.dev/initial-scale"] = "2";
  EXPECT_EQ(conditions(),
            "Active=Unknown/Queued Ready=Unknown/Queued SKSReady=True "
            "ScaleTargetInitialized=Unknown");
  ready_ = 2;
  EXPECT_EQ(conditions(), "Active=True Ready=True SKSReady=True ScaleTargetInitialized=True");
}

TEST_F(PodAutoscalerPlanTest, ARestartOfOursChangesNoCondition) {
  has_order_ = false;
  object_.status.desired = 4;
  EXPECT_EQ(conditions(), "Active=True Ready=True SKSReady=True ScaleTargetInitialized=True");
  EXPECT_EQ(plan_status(sight(), kNow).desired, 4) << "unknown never hides a number";

  was("False");
  ready_ = 0;
  EXPECT_EQ(conditions().substr(0, 22), "Active=False/NoTraffic");
}

TEST_F(PodAutoscalerPlanTest, AServerlessServiceThatIsBehindIsNotReady) {
  serverless_.generation = 2;
  serverless_.observed_generation = 1;
  EXPECT_EQ(conditions(),
            "Active=True Ready=Unknown/NotReady SKSReady=Unknown/NotReady "
            "ScaleTargetInitialized=True");
}

}  // namespace
}  // namespace sluice::autoscaler
