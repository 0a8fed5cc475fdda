// Goal: the rule of foresight holds whom it must, and nobody else.
// Method: a node of 1000 MiB without a reserve, told in sizes; each claim by who is held then.
#include "memory-pressure/core/foresight_policy.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"

namespace sluice::node_agent {
namespace {

PolicySettings without_reserve() {
  PolicySettings settings;
  settings.reserve = 0;
  return settings;
}

/// A node under the rule. Its memory is what its containers use, and `beside`.
class Foreseen {
 public:
  explicit Foreseen(const PolicySettings& settings = without_reserve()) : policy_{settings} {}

  /// A container of a Job whose program begins now.
  Container& birth(const std::string& id, std::int64_t limit, std::int64_t size = 0) {
    Container& one = scene.add(id, size, limit, 0);
    one.marks.batch = true;
    one.cgroup = "/pods/" + id;
    one.born = scene.seen.now;
    one.image = "job";
    one.frozen = false;
    return one;
  }

  Container& service(const std::string& id, std::int64_t limit, std::int64_t size) {
    Container& one = scene.add(id, size, limit, 3'600'000);
    one.image = "service";
    return one;
  }

  /// Who is held or throttled after a look, `milliseconds` after the one before.
  std::string look(std::int64_t milliseconds = 50) {
    scene.after(milliseconds);
    std::int64_t used = beside * kMiB;
    for (const Container& one : scene.seen.containers) used += one.working_set.value_or(0);
    scene.node().used = used;
    decision = policy_.decide(scene.seen);
    for (Container& one : scene.seen.containers) one.frozen = false;
    for (const Throttle& held : decision.throttled) scene[held.id].frozen = held.freeze;
    return throttled(decision);
  }

  std::string look_for(Duration time, std::int64_t each_ms = 250) {
    std::string last;
    for (Duration at{}; at < time; at += std::chrono::milliseconds{each_ms}) last = look(each_ms);
    return last;
  }

  /// Containers of 100 MiB with `limit` that swing between 20 and 60 have been watched.
  void know(std::int64_t limit) {
    for (int cycle = 0; cycle < 3; ++cycle) {
      if (cycle == 0) birth("teacher", limit, 20);
      scene.grow("teacher", 60);
      look_for(std::chrono::seconds{10});
      scene.grow("teacher", 20);
      look_for(std::chrono::seconds{10});
    }
    scene.remove("teacher");
    look();
  }

  ForesightPolicy& policy() { return policy_; }

  Scene scene;
  std::int64_t beside = 0;
  Decision decision;

 private:
  ForesightPolicy policy_;
};

constexpr auto kMinute = std::chrono::seconds{60};

TEST(ForesightPolicy, StrangerIsExpectedToReachFourFifthsOfItsLimit) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 600);
  EXPECT_EQ(node.look(), "");
  node.birth("b", 650);
  EXPECT_EQ(node.look(), "") << "0.8 * 1250 is 1000";
  node.birth("c", 10);
  EXPECT_EQ(node.look(), "c:frozen");
}

TEST(ForesightPolicy, OfTwelveBornInOneTickTheOldestRunAsFarAsTheyFit) {
  Foreseen node;
  (void)node.look();
  for (int i = 0; i < 12; ++i) {
    node.scene.after(1);
    node.birth(std::string(1, static_cast<char>('a' + i)), 250);
  }
  EXPECT_EQ(node.look(), "f:frozen g:frozen h:frozen i:frozen j:frozen k:frozen l:frozen");
}

TEST(ForesightPolicy, TheOldestIsLetGoFirstWhenThereIsRoom) {
  Foreseen node;
  (void)node.look();
  for (const char* id : {"a", "b", "c", "d"}) {
    node.scene.after(1);
    node.birth(id, 500);
  }
  EXPECT_EQ(node.look(), "c:frozen d:frozen");
  node.scene.remove("a");
  EXPECT_EQ(node.look(), "d:frozen");
  EXPECT_EQ(node.look(), "d:frozen");
}

TEST(ForesightPolicy, LimitsFarAboveUseHoldNobodyOnceKinAreKnown) {
  Foreseen node;
  (void)node.look();
  node.know(400);
  for (int i = 0; i < 10; ++i) node.birth(std::string(1, static_cast<char>('a' + i)), 400);
  // 10 * 40 + 2.5 * 20 * sqrt(10) is 558: by limits two would run.
  EXPECT_EQ(node.look(), "");
  EXPECT_EQ(node.decision.pressure, Pressure::ok);
}

TEST(ForesightPolicy, VarianceOfKinIsKeptFreeAsOftenAsConfigured) {
  for (const double confidence : {2.5, 3.0}) {
    PolicySettings settings = without_reserve();
    settings.confidence = confidence;
    Foreseen node{settings};
    (void)node.look();
    node.know(100);
    for (int i = 0; i < 22; ++i) {
      node.scene.after(1);
      node.birth(std::string(1, static_cast<char>('a' + i)), 100);
    }
    // n * 36 + z * 19.6 * sqrt(n): 980 of 21 with 2.5, 983 of 20 with 3.
    EXPECT_EQ(node.look(), confidence < 3 ? "v:frozen" : "u:frozen v:frozen");
  }
}

TEST(ForesightPolicy, BrakeHoldsTheLargestNeedFirstUntilTheOthersCanReachTheirClaims) {
  Foreseen node;
  (void)node.look();
  for (const char* id : {"a", "b", "c"}) node.birth(id, 330, 10);
  EXPECT_EQ(node.look(), "");
  node.scene.grow("a", 326).grow("b", 325).grow("c", 323);
  node.beside = 6;
  // 20 are free, and all of it has just gone: 4, 5 and 7 could be needed.
  EXPECT_EQ(node.look(), "");
  node.beside = 12;
  EXPECT_EQ(node.look(), "c:frozen");
  node.beside = 18;
  EXPECT_EQ(node.look(), "b:frozen c:frozen") << "who needs least is never held";
  node.beside = 26;
  EXPECT_EQ(node.look(), "b:frozen c:frozen");
}

TEST(ForesightPolicy, GrowthOfOneReactionIsTheEdge) {
  for (const double brake : {0.0, 1.0}) {
    PolicySettings settings = without_reserve();
    settings.brake = brake;
    Foreseen node{settings};
    (void)node.look();
    for (const char* id : {"a", "b"}) node.birth(id, 450, 200);
    (void)node.look();
    node.scene.grow("a", 350).grow("b", 350);
    node.beside = 110;
    // 190 are free, 200 could be needed, 410 have gone since the look before.
    EXPECT_EQ(node.look(), brake > 0 ? "b:frozen" : "");
  }
}

TEST(ForesightPolicy, SlowUpdatesMakeTheReactionLonger) {
  for (const std::int64_t latency : {1, 500}) {
    Foreseen node;
    node.scene.seen.update_latency = std::chrono::milliseconds{latency};
    (void)node.look();
    for (const char* id : {"a", "b"}) node.birth(id, 450, 200);
    (void)node.look();
    node.scene.grow("a", 330).grow("b", 330);
    (void)node.look();
    node.scene.grow("a", 350).grow("b", 350);
    node.beside = 110;
    // 190 are free, 150 have gone since the look before.
    EXPECT_EQ(node.look(), latency > 1 ? "b:frozen" : "");
  }
}

TEST(ForesightPolicy, WhoIsInTheMiddleOfAnAllocationIsLetGoBeforeOlderOnes) {
  Foreseen node;
  (void)node.look();
  node.know(400);
  for (const char* id : {"old", "mid"}) {
    node.scene.after(1);
    node.birth(id, 400, 50);
  }
  (void)node.look();
  node.scene.grow("mid", 20);
  (void)node.look();
  node.scene.grow("mid", 40);
  node.birth("best", 400, 62);
  node.beside = 845;
  EXPECT_EQ(node.look(), "mid:frozen old:frozen");
  node.beside = 700;
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightPolicy, OneAlwaysRuns) {
  Foreseen node;
  node.beside = 990;
  (void)node.look();
  node.birth("a", 500);
  node.scene.after(1);
  node.birth("b", 400);
  node.scene.after(1);
  node.birth("c", 500);
  EXPECT_EQ(node.look(), "b:frozen c:frozen");
  node.scene.remove("a");
  EXPECT_EQ(node.look(), "c:frozen") << "the one that needs least goes on";
}

TEST(ForesightPolicy, WhoRanBeforeTheFirstLookIsHeldByAShortageOnly) {
  Foreseen node;
  for (const char* id : {"a", "b", "c"}) node.birth(id, 500, 100).born.reset();
  EXPECT_EQ(node.look(), "");
  node.scene.after(1);
  node.birth("new", 500);
  EXPECT_EQ(node.look(), "new:frozen");
  node.beside = 690;
  EXPECT_EQ(node.look(), "b:frozen c:frozen new:frozen");
}

TEST(ForesightPolicy, HoldOfOneThatRanEndsAfterAMinuteAndOthersTakeTheirTurns) {
  Foreseen node;
  (void)node.look();
  for (const char* id : {"a", "b", "c"}) node.birth(id, 330, 10);
  (void)node.look_for(std::chrono::seconds{1}, 50);
  node.scene.grow("a", 300).grow("b", 305).grow("c", 310);
  node.beside = 80;
  EXPECT_EQ(node.look(), "b:frozen c:frozen");
  EXPECT_EQ(node.look_for(kMinute - std::chrono::seconds{1}), "b:frozen c:frozen");
  EXPECT_EQ(node.look_for(std::chrono::seconds{2}), "a:frozen c:frozen");
  // A third of a minute is its turn, then comes the next of those that were held together.
  EXPECT_EQ(node.look_for(std::chrono::seconds{21}), "a:frozen b:frozen");
}

TEST(ForesightPolicy, HoldSinceBirthHasNoEnd) {
  Foreseen node;
  (void)node.look();
  node.know(1000);
  node.birth("long", 1000, 20);
  node.beside = 930;
  (void)node.look();
  node.birth("new", 1000);
  EXPECT_EQ(node.look(), "new:frozen");
  EXPECT_EQ(node.look_for(std::chrono::minutes{10}), "new:frozen");
}

TEST(ForesightPolicy, StrangerThatNeverFitsByItsLimitIsTriedAloneAfterAMinute) {
  Foreseen node;
  (void)node.look();
  node.know(400);
  node.beside = 200;
  node.birth("known", 400, 20);
  (void)node.look();
  for (const char* id : {"a", "b"}) {
    node.scene.after(1);
    Container& one = node.birth(id, 0);
    one.image = "stranger";
  }
  EXPECT_EQ(node.look(), "a:frozen b:frozen");
  EXPECT_EQ(node.look_for(std::chrono::seconds{59}), "a:frozen b:frozen");
  EXPECT_EQ(node.look_for(std::chrono::seconds{2}), "b:frozen");
  EXPECT_EQ(node.look_for(std::chrono::seconds{30}), "b:frozen") << "it stays let go";
}

TEST(ForesightPolicy, BirthOfUnknownMarksIsLeftAloneWhileThereIsRoom) {
  Foreseen node;
  (void)node.look();
  node.birth("old", 900, 100);
  (void)node.look();
  node.birth("new", 900).described = false;
  EXPECT_EQ(node.look(1), "");
  node.scene["new"].described = true;
  EXPECT_EQ(node.look(1), "new:frozen");
}

TEST(ForesightPolicy, BirthOfUnknownMarksIsHeldForAMomentWhenThereIsNoRoom) {
  Foreseen node;
  node.beside = 990;
  (void)node.look();
  Container& birth = node.birth("new", 900);
  birth.described = false;
  birth.marks = {};
  EXPECT_EQ(node.look(1), "new:frozen");
  EXPECT_EQ(node.look(100), "new:frozen");
  EXPECT_EQ(node.look(100), "") << "200 ms after it was seen";
  EXPECT_EQ(node.look(1), "");
}

TEST(ForesightPolicy, ProvisionalHoldEndsWhenItTurnsOutToBeNoneThatMayBeHeld) {
  Foreseen node;
  node.beside = 990;
  (void)node.look();
  Container& birth = node.birth("new", 0);
  birth.described = false;
  birth.marks = {};
  EXPECT_EQ(node.look(1), "new:frozen");
  node.scene["new"].described = true;
  EXPECT_EQ(node.look(1), "");
}

TEST(ForesightPolicy, ExemptAndServingContainersAreNeverFrozen) {
  Foreseen node;
  node.beside = 900;
  (void)node.look();
  node.birth("never", 500).marks.never = true;
  node.birth("serves", 500).marks.serves = true;
  node.birth("probed", 500).marks.exec_probe = true;
  node.birth("init", 500).marks.init = true;
  node.birth("bare", 500).marks.batch = false;
  node.birth("pair", 500).marks.whole_pod = true;
  Container& second = node.birth("pair-2", 500);
  second.marks.whole_pod = true;
  second.pod_uid = "uid-pair";
  EXPECT_EQ(node.look(), "");
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightPolicy, OthersAreThrottledOnlyWhenNoBatchContainerIsLeftToHold) {
  Foreseen node;
  (void)node.look();
  node.service("service", 600, 300);
  node.service("other", 50, 40);
  node.birth("a", 200, 100);
  node.birth("b", 200, 100);
  EXPECT_EQ(node.look_for(std::chrono::seconds{10}), "");
  node.scene.grow("service", 580);
  node.beside = 100;
  EXPECT_EQ(node.look(), "b:frozen service:100m") << "no other of a Job runs";
}

TEST(ForesightPolicy, ALeakIsSacrificedAtOnceOnceNoBatchContainerIsLeftToHold) {
  Foreseen node;
  (void)node.look();
  node.service("leak", 0, 600);
  node.service("calm", 50, 40);
  node.birth("a", 150, 100);
  node.birth("b", 150, 100);
  for (int i = 0; i < 250 && !node.decision.sacrifice; ++i) {
    node.scene.grow("leak", 600 + i);
    (void)node.look(250);
  }
  ASSERT_TRUE(node.decision.sacrifice);
  EXPECT_EQ(node.decision.sacrifice->id, "leak");
  EXPECT_EQ(node.decision.sacrifice->grace, Duration::zero()) << "the node is above 0.97";
  EXPECT_TRUE(throttled(node.decision).starts_with("b:frozen"));
}

TEST(ForesightPolicy, HoldByQuotaIsTheDeepestOneAndItsLeakIsExpected) {
  PolicySettings settings = without_reserve();
  settings.hold = HoldBy::quota;
  Foreseen node{settings};
  (void)node.look();
  node.birth("a", 500);
  node.birth("b", 740);
  EXPECT_EQ(node.look(), "");
  node.birth("c", 500);
  // 0.8 * 1240 and 6 that leak in 3 s at 1m.
  EXPECT_EQ(node.look(), "c:1m");
  EXPECT_EQ(node.decision.throttled.front().ladder_step, 4U);
}

TEST(ForesightPolicy, WhoHasNoFreezerIsHeldByItsQuota) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 1000);
  node.birth("b", 1000).cgroup.clear();
  EXPECT_EQ(node.look(), "b:1m");
}

TEST(ForesightPolicy, GateAdmitsTheLargestStrangerThatFits) {
  Foreseen node;
  EXPECT_EQ(shown((node.look(), node.decision)), "ok [] 1250") << "a tenth more than the node";
  node.birth("a", 500);
  (void)node.look();
  EXPECT_EQ(node.decision.admit_bytes / kMiB, 750);
  node.birth("b", 750);
  EXPECT_EQ(node.look(), "");
  EXPECT_EQ(node.decision.admit_bytes, 0);
}

TEST(ForesightPolicy, GateIsShutWhileOneIsHeld) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 300);
  node.birth("b", 1200);
  EXPECT_EQ(node.look(), "b:frozen");
  EXPECT_EQ(node.decision.admit_bytes, 0);
  EXPECT_EQ(node.decision.pressure, Pressure::high);
}

TEST(ForesightPolicy, MemoryOfNoContainerIsExpectedToStay) {
  Foreseen node;
  (void)node.look();
  node.beside = 300;
  node.birth("a", 500);
  node.birth("b", 500);
  EXPECT_EQ(node.look(), "b:frozen");
}

TEST(ForesightPolicy, SystemProgramsWithoutALimitAreNoStrangers) {
  Foreseen node;
  node.service("kubelet", 0, 100).marks.system = true;
  (void)node.look();
  node.birth("a", 500);
  node.birth("b", 500);
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightPolicy, WhoNeverGivesBackIsKnownAfterAMinute) {
  Foreseen node;
  node.service("service", 0, 100);
  (void)node.look();
  node.birth("a", 500);
  node.birth("b", 500);
  EXPECT_EQ(node.look(), "b:frozen");
  EXPECT_EQ(node.look_for(std::chrono::seconds{81}), "");
}

TEST(ForesightPolicy, ThoseHeldBeforeThisStartStayHeldUntilThereIsRoom) {
  Foreseen node;
  node.beside = 960;
  node.birth("a", 100, 10).born.reset();
  node.scene.after(1);
  node.birth("b", 100, 10).frozen = true;
  EXPECT_EQ(node.look(), "b:frozen");
  node.beside = 700;
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightPolicy, WhoIsFrozenByAnotherProgramCountsForWhatItHolds) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 500);
  (void)node.look_for(std::chrono::seconds{2});
  node.scene["a"].frozen = true;
  node.birth("b", 600);
  node.scene.seen.containers.back().frozen = false;
  (void)node.policy().decide(node.scene.after(50).seen);
  const Decision decision = node.policy().decide(node.scene.after(50).seen);
  EXPECT_EQ(throttled(decision), "");
  EXPECT_EQ(decision.admit_bytes / kMiB, 650) << "of 1000, 0.8 * 600 are b's";
}

TEST(ForesightPolicy, UnreadableMemoryChangesNothing) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 600);
  node.birth("b", 900);
  EXPECT_EQ(node.look(), "b:frozen");
  node.scene.remove("a");
  node.scene.seen.memory.reset();
  (void)node.policy().decide(node.scene.after(50).seen);
  node.birth("c", 900);
  node.scene.seen.memory.reset();
  const Decision blind = node.policy().decide(node.scene.after(50).seen);
  EXPECT_EQ(blind.admit_bytes, 0);
}

TEST(ForesightPolicy, SilentRuntimeKeepsNobodyFrozen) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 600);
  node.birth("b", 900);
  EXPECT_EQ(node.look(), "b:frozen");
  node.scene.seen.runtime_answers = false;
  node.scene.remove("a");
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightPolicy, NextProcessKnowsWhatThisOneHasLearned) {
  Foreseen before;
  (void)before.look();
  before.know(400);
  Foreseen node;
  node.policy().learn(before.policy().learned());
  (void)node.look();
  for (int i = 0; i < 10; ++i) node.birth(std::string(1, static_cast<char>('a' + i)), 400);
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightPolicy, WithoutPausesItIsAGateAlone) {
  PolicySettings settings = without_reserve();
  settings.pause = false;
  Foreseen node{settings};
  (void)node.look();
  node.birth("a", 900);
  node.birth("b", 900);
  EXPECT_EQ(node.look(), "");
  EXPECT_EQ(node.decision.admit_bytes, 0);
}

TEST(ForesightPolicy, LooksAreDenseUnlessAllFitsAndMuchIsFree) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 600);
  (void)node.look();
  EXPECT_FALSE(node.decision.dense);
  node.birth("b", 900);
  (void)node.look();
  EXPECT_TRUE(node.decision.dense);
}

}  // namespace
}  // namespace sluice::node_agent
