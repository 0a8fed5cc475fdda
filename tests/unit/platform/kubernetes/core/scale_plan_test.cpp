#include "platform/kubernetes/core/scale_plan.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

kube::Workload workload(std::int32_t replicas, std::int32_t status) {
  kube::Workload made;
  made.replicas = replicas;
  made.status_replicas = status;
  return made;
}

ScaleOrder order(std::int32_t replicas, std::vector<PodId> remove = {}) {
  ScaleOrder made;
  made.replicas = replicas;
  made.remove = std::move(remove);
  return made;
}

const std::vector<ScalePod> kThree{{"a"}, {"b"}, {"c"}};

TEST(ScalePlan, RaisesAtOnce) {
  const ScalePlan plan = plan_replicas(workload(0, 0), {}, order(5));
  EXPECT_EQ(plan.replicas, 5);
  EXPECT_TRUE(plan.costs.empty());
}

TEST(ScalePlan, WritesNothingWhenAllIsAsOrdered) {
  EXPECT_EQ(plan_replicas(workload(3, 3), kThree, order(3)), ScalePlan{});
}

TEST(ScalePlan, NeverLowersByAPodThatIsNotReleased) {
  EXPECT_EQ(plan_replicas(workload(3, 3), kThree, order(1)).replicas, std::nullopt);
}

TEST(ScalePlan, CostsComeFirstAndTheIdlestIsTheCheapest) {
  const ScalePlan plan = plan_replicas(workload(3, 3), kThree, order(1, {{"b"}, {"a"}}));

  EXPECT_TRUE(plan.waits_for_costs);
  EXPECT_EQ(plan.replicas, std::nullopt);
  EXPECT_EQ(plan.costs, (std::vector<ScalePlan::Cost>{{"a", kCostLeast + 1}, {"b", kCostLeast}}));
}

TEST(ScalePlan, LowersByReleasedPodsOnceTheyAreTheCheapest) {
  const std::vector<ScalePod> pods{{"a", false, kCostLeast}, {"b"}, {"c"}};
  EXPECT_EQ(plan_replicas(workload(3, 3), pods, order(1, {{"a"}})).replicas, 2);
}

// Goal: a pod still to be removed for the last write is not counted for a second one.
TEST(ScalePlan, APodThatWasAlreadyLoweredByIsNotLoweredByAgain) {
  const std::vector<ScalePod> pods{{"a", false, kCostLeast}, {"b"}, {"c"}};
  EXPECT_EQ(plan_replicas(workload(2, 3), pods, order(1, {{"a"}})).replicas, std::nullopt);
}

TEST(ScalePlan, ATerminatingPodIsNotCounted) {
  const std::vector<ScalePod> pods{{"a", true, kCostLeast}, {"b", false, kCostLeast + 1}, {"c"}};
  EXPECT_EQ(plan_replicas(workload(2, 2), pods, order(1, {{"a"}, {"b"}})).replicas, 1);
}

TEST(ScalePlan, ReplicasWithoutAPodAreLoweredFreely) {
  EXPECT_EQ(plan_replicas(workload(9, 3), kThree, order(3)).replicas, 3);
}

TEST(ScalePlan, PodsWithoutASidecarAreNeverLoweredAway) {
  EXPECT_EQ(plan_replicas(workload(3, 3), {}, order(0)).replicas, std::nullopt);
}

TEST(ScalePlan, WhenAllPodsAreRemovedNoneNeedsACost) {
  const ScalePlan plan = plan_replicas(workload(2, 2), {{"a"}, {"b"}}, order(0, {{"a"}, {"b"}}));
  EXPECT_EQ(plan.replicas, 0);
  EXPECT_TRUE(plan.costs.empty());
}

TEST(ScalePlan, ACostIsTakenBackFromAPodThatStays) {
  const std::vector<ScalePod> pods{{"a", false, kCostLeast}, {"b"}};
  EXPECT_EQ(plan_replicas(workload(2, 2), pods, order(2)).costs,
            (std::vector<ScalePlan::Cost>{{"a", std::nullopt}}));
}

TEST(ScalePlan, ACostSetByAUserIsKept) {
  const std::vector<ScalePod> pods{{"a", false, -100}, {"b", false, 7}};
  EXPECT_TRUE(plan_replicas(workload(2, 2), pods, order(2)).costs.empty());
}

}  // namespace
}  // namespace sluice::autoscaler
