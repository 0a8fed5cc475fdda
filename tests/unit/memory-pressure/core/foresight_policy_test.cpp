// Goal: the rule of foresight holds the containers it must, and no others.
// Method: a node of 1000 MiB without a reserve, told in sizes; each claim by who is held then.
#include "tests/unit/memory-pressure/core/foreseen.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

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

TEST(ForesightPolicy, LimitsFarAboveUseAreNoReasonForAHoldOnceKinAreKnown) {
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
    // Mean 36, and in part still the peak: 43.7 * n + z * 19.6 * sqrt(n) is 994 for 18 with 2.5,
    // 985 for 17 with 3.
    const std::string held = "s:frozen t:frozen u:frozen v:frozen";
    EXPECT_EQ(node.look(), confidence < 3 ? held : "r:frozen " + held);
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

TEST(ForesightPolicy, MoreThanOneBrakeAMinuteMakesItCautiousForAWhile) {
  Foreseen node;
  node.scene.seen.update_latency = std::chrono::milliseconds{1};
  (void)node.look();
  for (const char* id : {"a", "b"}) node.birth(id, 450, 200);
  const auto grows = [&](bool in_two_steps) {
    node.scene.grow("a", 200).grow("b", 200);
    node.beside = 0;
    (void)node.look_for(std::chrono::seconds{2});
    if (in_two_steps) node.scene.grow("a", 330).grow("b", 330);
    (void)node.look();
    node.scene.grow("a", 350).grow("b", 350);
    node.beside = 110;
    return node.look();
  };
  // 190 are free then, 200 could be needed; in two steps 150 have gone since the look before.
  EXPECT_EQ(grows(true), "");
  EXPECT_EQ(grows(false), "b:frozen");
  EXPECT_EQ(grows(false), "b:frozen");
  EXPECT_EQ(grows(true), "b:frozen") << "twice what has gone is the edge now";
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

TEST(ForesightPolicy, ContainerInTheMiddleOfAnAllocationIsLetGoBeforeOlderOnes) {
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

TEST(ForesightPolicy, HoldsEndWhileTheRuntimeIsSilent) {
  Foreseen node;
  (void)node.look();
  node.birth("a", 600);
  node.birth("b", 900);
  EXPECT_EQ(node.look(), "b:frozen");
  node.scene.seen.runtime_answers = false;
  node.scene.remove("a");
  EXPECT_EQ(node.look(), "");
}

TEST(ForesightPolicy, StatisticsOfKinServeTheNextProcess) {
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
