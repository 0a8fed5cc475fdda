#include "tests/unit/activator/core/destinations_network.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

using testing::kMesh;
using testing::kNotReady;
using testing::kPassed;
using testing::kSilent;
using testing::kStart;
using testing::Network;
using testing::Pods;

TEST(Destinations, AnswersToProbesAreClassified) {
  EXPECT_EQ(judge_probe(200, "queue", false), kPassed);
  EXPECT_EQ(judge_probe(200, "activator", false), kNotReady);
  EXPECT_EQ(judge_probe(502, "", false), kMesh);
  EXPECT_EQ(judge_probe(503, "queue", false), kMesh);
  EXPECT_EQ(judge_probe(500, "queue", false), kNotReady);
}

// activator.md 12, row 47.
TEST(Destinations, PodWhoseSidecarAnswersIsUsedBeforeThePlatformReportsItReady) {
  Network network;
  network.answers = {{"a", kPassed}};
  network.pods({{"a", false}});

  EXPECT_EQ(network.round(), "+a");
}

// Row 48.
TEST(Destinations, PodWithAnExecProbeIsUsedOnceThePlatformReportsItReady) {
  Network network({.fast_ready = false});
  network.answers = {{"a", kPassed}};
  network.pods({{"a", false}});
  EXPECT_EQ(network.until(kStart + 10s), "");

  network.pod("a", true);
  EXPECT_EQ(network.round(), "+a");
  EXPECT_EQ(network.pod("a", false), "-a");
}

// Row 55.
TEST(Destinations, PodThatFailsItsProbeDoesNotDelayOtherPods) {
  Network network;
  network.answers = {{"a", kPassed}, {"b", kSilent}, {"c", kPassed}};
  network.pods({{"a", true}, {"b", true}, {"c", true}});

  EXPECT_EQ(network.round(), "+a +c");
}

// Row 56.
TEST(Destinations, PodsInUseAreNotProbed) {
  Network network;
  network.answers = {{"a", kPassed}, {"b", kPassed}};
  network.pods({{"a", true}, {"b", false}});
  EXPECT_EQ(network.round(), "+a +b");

  network.pod("b", true);
  EXPECT_EQ(network.round(), "");
  EXPECT_EQ(network.asked, "");
  EXPECT_EQ(network.destinations.next_due(), std::nullopt);
}

// Row 57.
TEST(Destinations, PodThatDisappearsIsRemoved) {
  Network network;
  network.answers = {{"a", kPassed}, {"b", kPassed}};
  network.pods({{"a", true}, {"b", true}});
  network.round();

  EXPECT_EQ(network.gone("a"), "-a");
  EXPECT_EQ(network.pods({}), "-b");
  EXPECT_EQ(network.destinations.usable(), 0U);
}

// Row 58.
TEST(Destinations, DemotedPodStaysOnlyIfItsSidecarStillAnswers) {
  Network network;
  network.answers = {{"a", kPassed}, {"b", kPassed}, {"c", kPassed}};
  network.pods({{"a", true}, {"b", true}, {"c", true}});
  network.round();

  network.answers["b"] = kSilent;
  EXPECT_EQ(network.pods({{"a", false}, {"b", false}, {"c", true}}), "");
  EXPECT_EQ(network.round(), "-b");
  EXPECT_EQ(network.asked, "a b");
}

// Goal: one bad round never empties a healthy set.
// Method: all pods are demoted while the network is silent; then it answers again, or does not.
TEST(Destinations, LastPodInUseIsKeptForAMomentWithoutAnAnswer) {
  for (const bool recovers : {true, false}) {
    Network network;
    network.answers = {{"a", kPassed}, {"b", kPassed}};
    network.pods({{"a", true}, {"b", true}});
    network.round();

    network.answers.clear();
    network.pods({{"a", false}, {"b", false}});
    EXPECT_EQ(network.round(), "-a");
    network.answers = recovers ? std::map<std::string, ProbeResult>{{"a", kPassed}, {"b", kPassed}}
                               : std::map<std::string, ProbeResult>{};

    EXPECT_EQ(network.until(kStart + 1s), recovers ? "+a" : "-b");
  }
}

TEST(Destinations, PodWhoseSidecarRefusesIsRemovedAtOnce) {
  Network network;
  network.answers = {{"a", kPassed}};
  network.pods({{"a", true}});
  network.round();

  network.answers["a"] = kNotReady;
  network.pod("a", false);

  EXPECT_EQ(network.round(), "-a");
}

TEST(Destinations, ProvenPodIsUsedWithoutAProbe) {
  Network network;
  network.answers = {{"a", kPassed}};
  EXPECT_EQ(network.pod("a", {.ready = false, .fast_ready = false}), "");
  EXPECT_EQ(network.pod("a", {.ready = true, .fast_ready = false, .proven = true}), "+a");
  EXPECT_EQ(network.until(kStart + 10s), "");
  EXPECT_EQ(network.asked, "");

  EXPECT_EQ(network.pod("a", {.ready = false, .fast_ready = false}), "-a");
  EXPECT_EQ(network.pod("a", {.ready = true, .fast_ready = false, .proven = true}), "+a");
}

TEST(Destinations, ProvenPodIsProbedWhenSuspectedAndAnEarlierProofDoesNotCount) {
  Network network;
  network.answers = {{"a", kNotReady}};
  ASSERT_EQ(network.pod("a", {.ready = true, .proven = true}), "+a");

  network.destinations.suspect("a", network.now);
  EXPECT_EQ(network.round(), "-a");
  EXPECT_EQ(network.pod("a", {.ready = true, .proven = true}), "");
  network.answers["a"] = kPassed;
  EXPECT_EQ(network.until(kStart + 1s), "+a");
}

TEST(Destinations, FailedProbeDoesNotRemoveAPodProvenMeanwhile) {
  Network network;
  EXPECT_EQ(network.pod("a", false), "");
  const auto probe = network.destinations.next_probe(network.now);
  ASSERT_TRUE(probe.has_value());

  EXPECT_EQ(network.pod("a", {.ready = true, .proven = true}), "+a");
  DestinationChanges changes;
  network.destinations.probed(probe->number, kNotReady, network.now, {}, changes);
  EXPECT_TRUE(changes.empty());
  EXPECT_EQ(network.destinations.next_due(), std::nullopt);
}

TEST(Destinations, ProvenPodIsNotUsedInMeshModeEnabled) {
  Network network({.mode = MeshMode::enabled});
  EXPECT_EQ(network.pod("a", {.ready = true, .proven = true}), "");
}

TEST(Destinations, PodThatRequestsFailOnIsProbed) {
  Network network;
  network.answers = {{"a", kPassed}, {"b", kPassed}};
  network.pods({{"a", true}, {"b", true}});
  network.round();

  network.answers["a"] = kSilent;
  network.destinations.suspect("a", network.now);
  network.destinations.suspect("unknown", network.now);

  EXPECT_EQ(network.round(), "-a");
  network.answers["a"] = kPassed;
  EXPECT_EQ(network.until(kStart + 1s), "+a");
}

TEST(Destinations, FailedPodsAreProbedAtGrowingIntervals) {
  Network network;
  network.pods({{"a", false}});
  const TimePoint began = network.now;
  std::map<Duration, Duration> gaps;  // by the time since the first failure
  while (network.now - began < 5s) {
    network.round();
    gaps[network.now - began] = *network.destinations.next_due() - network.now;
    network.now = *network.destinations.next_due();
  }

  EXPECT_EQ(gaps.begin()->second, 10ms);
  EXPECT_EQ(gaps.lower_bound(160ms)->second, 10ms);
  EXPECT_EQ(gaps.rbegin()->second, 200ms);
  for (const auto& [waited, gap] : gaps) {
    EXPECT_LE(gap, std::max<Duration>(10ms, waited / 16));
    EXPECT_LE(gap, 200ms);
  }
  EXPECT_LT(gaps.size(), 100U);
}

TEST(Destinations, ManyPodsThatFailAreProbedNoMoreOftenTogetherThanFew) {
  Network network;
  std::vector<std::pair<std::string, bool>> pods;
  for (int i = 0; i < 320; ++i) pods.emplace_back("pod-" + std::to_string(i), false);
  network.pods(pods);
  network.round();

  EXPECT_EQ(*network.destinations.next_due() - network.now, 100ms);
}

TEST(Destinations, SidecarMayHoldTheProbeOfAPodThatStarts) {
  Network network;
  network.pods({{"a", false}});

  const std::optional<Probe> probe = network.destinations.next_probe(network.now);

  ASSERT_TRUE(probe.has_value());
  EXPECT_EQ(probe->connect_timeout, 300ms);
  EXPECT_GT(probe->answer_timeout, 10s);
  EXPECT_FALSE(network.destinations.next_probe(network.now).has_value());
}

TEST(Destinations, CheckOfAPodInUseIsNotHeld) {
  Network network;
  network.answers = {{"a", kPassed}};
  network.pods({{"a", true}});
  network.round();
  network.destinations.suspect("a", network.now);

  EXPECT_EQ(network.destinations.next_probe(network.now)->answer_timeout, 300ms);
}

TEST(Destinations, LimitsGrowWithSilenceAndWithTheRoundTrip) {
  Network network;
  network.pods({{"a", false}});
  DestinationChanges changes;
  Probe probe = *network.destinations.next_probe(network.now);
  network.destinations.probed(probe.number, kSilent, network.now, 0ms, changes);
  network.now += 10ms;
  probe = *network.destinations.next_probe(network.now);
  EXPECT_EQ(probe.connect_timeout, 600ms);

  network.destinations.probed(probe.number, kNotReady, network.now, 150ms, changes);
  network.now += 20ms;

  EXPECT_EQ(network.destinations.next_probe(network.now)->connect_timeout, 300ms + 4 * 150ms);
}

TEST(Destinations, AResultFromBeforeAPodReturnedIsIgnored) {
  Network network;
  network.pods({{"a", true}});
  const Probe probe = *network.destinations.next_probe(network.now);
  network.gone("a");
  network.pod("a", true);
  DestinationChanges changes;

  network.destinations.probed(probe.number, kPassed, network.now, 0ms, changes);

  EXPECT_TRUE(changes.empty());
  network.answers["a"] = kPassed;
  EXPECT_EQ(network.round(), "+a");
}

TEST(Destinations, ProbesUnderWayAreBounded) {
  Network network;
  Pods many;
  for (std::size_t i = 0; i < 2 * Destinations::kProbesMax; ++i) {
    many.emplace_back("pod-" + std::to_string(i), false);
  }
  network.pods(many);
  std::size_t begun = 0;
  Probe last;
  while (const std::optional<Probe> probe = network.destinations.next_probe(network.now)) {
    ++begun;
    last = *probe;
  }

  EXPECT_EQ(begun, Destinations::kProbesMax);
  EXPECT_EQ(last.answer_timeout, 300ms);
  EXPECT_EQ(network.destinations.next_due(), std::nullopt);
  DestinationChanges changes;
  network.destinations.probed(last.number, kPassed, network.now, 0ms, changes);
  EXPECT_TRUE(network.destinations.next_probe(network.now).has_value());
}

}  // namespace
}  // namespace sluice::activator
