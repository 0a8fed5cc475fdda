#include "bench/replays/paper-agent/paper_policy.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

Scene four() {
  Scene scene;
  scene.add("a", 400, 500);
  scene.add("b", 100, 500);
  scene.add("c", 300, 500);
  scene.add("d", 200, 500);
  return scene;
}

PolicySettings pairs() {
  PolicySettings settings;
  settings.step = 2;
  return settings;
}

TEST(PaperPolicy, ExactlyAtUIsIdleAboveItTheSmallestAreRestricted) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  EXPECT_EQ(shown(policy.decide(scene.used(900).seen)), "ok [] any");
  EXPECT_EQ(shown(policy.decide(scene.used(901).after(250).seen)), "high [b:25m d:25m] any");
}

TEST(PaperPolicy, ExactlyAtLIsStillWaitingBelowItAllAreReleasedAtOnce) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  (void)policy.decide(scene.used(950).seen);
  EXPECT_EQ(throttled(policy.decide(scene.used(840).after(250).seen)), "b:25m d:25m");
  EXPECT_EQ(throttled(policy.decide(scene.used(839).after(250).seen)), "");
}

TEST(PaperPolicy, RestrictsTheNextAfterTheTimeoutUnlessPressureIsOver) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  (void)policy.decide(scene.used(901).seen);
  EXPECT_EQ(throttled(policy.decide(scene.used(850).after(4999).seen)), "b:25m d:25m");
  EXPECT_EQ(throttled(policy.decide(scene.after(1).seen)), "b:25m d:25m c:25m a:25m");
}

TEST(PaperPolicy, ContainerAddedToAnEmptyNodeAboveUIsRestrictedAtOnce) {
  Scene scene;
  PaperPolicy policy{pairs()};
  EXPECT_EQ(throttled(policy.decide(scene.used(950).seen)), "");
  scene.add("late", 100, 500);
  EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)), "late:25m");
}

TEST(PaperPolicy, WhenAllRestrictedContainersAreGoneTheNextAreTakenAtOnce) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  EXPECT_EQ(throttled(policy.decide(scene.used(950).seen)), "b:25m d:25m");
  scene.remove("b");
  EXPECT_EQ(throttled(policy.decide(scene.after(50).seen)), "d:25m");
  scene.remove("d");
  EXPECT_EQ(throttled(policy.decide(scene.after(50).seen)), "c:25m a:25m");
}

TEST(PaperPolicy, OptOutWhileRestrictedReleasesAtTheNextTick) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  EXPECT_EQ(throttled(policy.decide(scene.used(950).seen)), "b:25m d:25m");
  scene["b"].marks.never = true;
  EXPECT_EQ(throttled(policy.decide(scene.after(250).seen)), "d:25m");
}

TEST(PaperPolicy, FewerCandidatesThanRAreTaken) {
  Scene scene;
  scene.used(950).add("only", 10, 20);
  PaperPolicy policy{pairs()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "only:25m");
}

TEST(PaperPolicy, AllRestrictedRemovesTheMostRecentlyRestricted) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  (void)policy.decide(scene.used(950).seen);
  (void)policy.decide(scene.after(5000).seen);
  const Decision first = policy.decide(scene.after(5000).seen);
  EXPECT_EQ(shown(first), "high [b:25m d:25m c:25m a:25m] -a any");
  EXPECT_EQ(first.sacrifice->grace, Duration::zero());
  scene.remove("a").after(50);
  EXPECT_EQ(shown(policy.decide(scene.seen)), "high [b:25m d:25m c:25m] -c any");
  scene.remove("c").after(50);
  EXPECT_EQ(shown(policy.decide(scene.seen)), "high [b:25m d:25m] any");
}

TEST(PaperPolicy, ContainerThatExitsWhileRestrictedLeavesTheList) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  (void)policy.decide(scene.used(950).seen);
  EXPECT_EQ(throttled(policy.decide(scene.remove("b").after(250).seen)), "d:25m");
}

TEST(PaperPolicy, WithoutContainersOrWithOnlyExemptOnesNothingIsDone) {
  Scene scene;
  scene.used(990);
  PaperPolicy policy{pairs()};
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(shown(policy.decide(scene.after(1000).seen)), "critical [] any");
  scene.add("a", 100, 200).marks.system = true;
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(shown(policy.decide(scene.after(1000).seen)), "critical [] any");
}

TEST(PaperPolicy, EqualUseIsOrderedByIdAndUnknownUseIsLast) {
  Scene scene;
  scene.used(950).add("x", 10, 20).working_set.reset();
  scene.add("c", 10, 20);
  scene.add("b", 10, 20);
  PaperPolicy policy{pairs()};
  EXPECT_EQ(throttled(policy.decide(scene.seen)), "b:25m c:25m");
}

TEST(PaperPolicy, KeepsItsListWhileMemoryOrRuntimeCannotBeRead) {
  Scene scene = four();
  PaperPolicy policy{pairs()};
  (void)policy.decide(scene.used(950).seen);
  scene.seen.runtime_answers = false;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(shown(policy.decide(scene.after(1000).seen)), "high [b:25m d:25m] any");
  }
  scene.seen.runtime_answers = true;
  scene.seen.memory.reset();
  EXPECT_EQ(shown(policy.decide(scene.after(1000).seen)), "high [b:25m d:25m] any");
}

}  // namespace
}  // namespace sluice::node_agent
