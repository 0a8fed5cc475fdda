#include "activator/core/destinations.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

using Pods = std::vector<std::pair<std::string, bool>>;

constexpr TimePoint kStart{1'700'000'000s};
constexpr ProbeResult kPassed = ProbeResult::passed;
constexpr ProbeResult kSilent = ProbeResult::silent;
constexpr ProbeResult kMesh = ProbeResult::mesh_like;
constexpr ProbeResult kNotReady = ProbeResult::not_ready;

// Destinations told in words, with a network that answers as the test says. Changes read as
// "+a" and "-a" for pods, "=ip/2" and "!ip" for the cluster IP with its backends.
class Network {
 public:
  explicit Network(const DestinationsSpec& spec = {}) : destinations(spec) {}

  std::string pods(const Pods& list) {
    DestinationChanges changes;
    destinations.set_pods(list, now, changes);
    return show(changes);
  }

  std::string pod(const std::string& dest, bool ready) {
    DestinationChanges changes;
    destinations.set_pod(dest, ready, now, changes);
    return show(changes);
  }

  std::string gone(const std::string& dest) {
    DestinationChanges changes;
    destinations.remove_pod(dest, now, changes);
    return show(changes);
  }

  std::string cluster_ip(const std::string& dest) {
    DestinationChanges changes;
    destinations.set_cluster_ip(dest.empty() ? std::nullopt : std::optional<std::string>(dest), now,
                                changes);
    return show(changes);
  }

  /// Makes every probe that is due now, once; asked is who was probed.
  std::string round() {
    std::string text;
    asked.clear();
    std::vector<Probe> probes;
    while (const std::optional<Probe> probe = destinations.next_probe(now)) {
      probes.push_back(*probe);
    }
    for (const Probe& probe : probes) {
      asked += (asked.empty() ? "" : " ") + probe.dest;
      DestinationChanges changes;
      const auto answer = answers.find(probe.dest);
      destinations.probed(probe.number, answer == answers.end() ? kSilent : answer->second, now,
                          0ms, changes);
      text += (text.empty() || changes.empty() ? "" : " ") + show(changes);
    }
    return text;
  }

  /// Rounds until `end`, each when it is due.
  std::string until(TimePoint end) {
    std::string text;
    while (destinations.next_due() && *destinations.next_due() <= end) {
      now = std::max(now, *destinations.next_due());
      const std::string changed = round();
      text += (text.empty() || changed.empty() ? "" : " ") + changed;
    }
    now = end;
    return text;
  }

  static std::string show(const DestinationChanges& changes) {
    std::string text;
    for (const DestinationChange& one : changes) {
      text += text.empty() ? "" : " ";
      switch (one.kind) {
        case DestinationChange::Kind::pod_usable:
          text += "+" + one.dest;
          break;
        case DestinationChange::Kind::pod_gone:
          text += "-" + one.dest;
          break;
        case DestinationChange::Kind::cluster_ip:
          text += "=" + one.dest + "/" + std::to_string(one.backends);
          break;
        case DestinationChange::Kind::cluster_gone:
          text += "!" + one.dest;
          break;
      }
    }
    return text;
  }

  Destinations destinations;
  std::map<std::string, ProbeResult> answers;
  std::string asked;
  TimePoint now = kStart;
};

TEST(Destinations, AnswersToProbesAreTold) {
  EXPECT_EQ(judge_probe(200, "queue", false), kPassed);
  EXPECT_EQ(judge_probe(200, "activator", false), kNotReady);
  EXPECT_EQ(judge_probe(502, "", false), kMesh);
  EXPECT_EQ(judge_probe(503, "queue", false), kMesh);
  EXPECT_EQ(judge_probe(500, "queue", false), kNotReady);
}

// activator.md 14.6.
TEST(Destinations, RefusalOfASidecarIsNoSignOfAMesh) {
  EXPECT_EQ(judge_probe(503, "", true), kNotReady);

  Network network;
  network.cluster_ip("ip");
  network.pods({{"a", true}});
  network.answers = {{"a", kNotReady}, {"ip", kPassed}};

  EXPECT_EQ(network.until(kStart + 5s), "");
  EXPECT_FALSE(network.destinations.uses_cluster_ip());
}

TEST(Destinations, MeshModesAreKnownByName) {
  EXPECT_EQ(parse_mesh_mode("auto"), MeshMode::automatic);
  EXPECT_EQ(parse_mesh_mode("enabled"), MeshMode::enabled);
  EXPECT_EQ(parse_mesh_mode("disabled"), MeshMode::disabled);
  EXPECT_EQ(parse_mesh_mode("Auto"), std::nullopt);
}

// activator.md 12, row 47.
TEST(Destinations, SidecarsWordComesBeforeThePlatforms) {
  Network network;
  network.answers = {{"a", kPassed}};
  network.pods({{"a", false}});

  EXPECT_EQ(network.round(), "+a");
}

// Row 48.
TEST(Destinations, PodWithAnExecProbeIsUsedOnceThePlatformCallsItReady) {
  Network network({.fast_ready = false});
  network.answers = {{"a", kPassed}};
  network.pods({{"a", false}});
  EXPECT_EQ(network.until(kStart + 10s), "");

  network.pod("a", true);
  EXPECT_EQ(network.round(), "+a");
  EXPECT_EQ(network.pod("a", false), "-a");
}

// Row 49.
TEST(Destinations, FailingPodIsNoReasonForTheClusterIp) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kNotReady}, {"b", kMesh}, {"ip", kPassed}};
  network.pods({{"a", true}, {"b", true}});

  EXPECT_EQ(network.until(kStart + 10s), "");
}

// Row 50.
TEST(Destinations, ClusterIpIsUsedWhenEveryPodSpeaksForAMesh) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kMesh}, {"b", kMesh}, {"ip", kPassed}};
  network.pods({{"a", true}, {"b", true}});

  EXPECT_EQ(network.until(kStart + 1s), "=ip/2");
  EXPECT_EQ(network.until(kStart + 29s), "");
  EXPECT_EQ(network.asked, "ip");
}

// Row 50, and activator.md 14.6.
TEST(Destinations, PodsAreTriedAgainWhileTheClusterIpIsUsed) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kMesh}, {"b", kMesh}, {"ip", kPassed}};
  network.pods({{"a", true}, {"b", true}});
  EXPECT_EQ(network.until(kStart + 10s), "=ip/2");

  network.answers["b"] = kPassed;

  EXPECT_EQ(network.until(kStart + 29s), "");
  EXPECT_EQ(network.until(kStart + 31s), "+b !ip");
}

TEST(Destinations, SilenceMustRepeatBeforeItSpeaksForAMesh) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kSilent}, {"ip", kPassed}};
  network.pods({{"a", true}});

  EXPECT_EQ(network.round(), "");
  EXPECT_EQ(network.round(), "");
  EXPECT_EQ(network.until(kStart + 1s), "=ip/1");
}

TEST(Destinations, PodsThatCameDuringTheProbeOfTheClusterIpComeFirst) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kMesh}};
  network.pods({{"a", true}});
  network.round();
  const std::optional<Probe> probe = network.destinations.next_probe(network.now);
  ASSERT_TRUE(probe && probe->cluster_ip);
  network.answers = {{"b", kPassed}};
  network.pod("b", true);
  EXPECT_EQ(network.round(), "+b");

  DestinationChanges changes;
  network.destinations.probed(probe->number, kPassed, network.now, 0ms, changes);

  EXPECT_EQ(Network::show(changes), "");
}

TEST(Destinations, BackendsOfTheClusterIpAreThoseThatAreReady) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kMesh}, {"b", kMesh}, {"ip", kPassed}};
  network.pods({{"a", true}, {"b", false}});
  EXPECT_EQ(network.until(kStart + 1s), "=ip/1");

  EXPECT_EQ(network.pod("b", true), "=ip/2");
  EXPECT_EQ(network.pod("a", false), "=ip/1");
  EXPECT_EQ(network.pod("b", false), "!ip");
  EXPECT_EQ(network.pod("b", true), "=ip/1");
  EXPECT_EQ(network.cluster_ip(""), "!ip");
}

// Row 51.
TEST(Destinations, MeshModeEnabledAlwaysMeansTheClusterIp) {
  Network network({.mode = MeshMode::enabled});
  network.cluster_ip("ip");
  network.answers = {{"a", kPassed}, {"ip", kSilent}};
  network.pods({{"a", true}});
  EXPECT_EQ(network.until(kStart + 1s), "");

  network.answers["ip"] = kPassed;

  EXPECT_EQ(network.until(kStart + 2s), "=ip/1");
  EXPECT_EQ(network.until(kStart + 100s), "");
}

// Row 52.
TEST(Destinations, MeshModeDisabledNeverMeansTheClusterIp) {
  Network network({.mode = MeshMode::disabled});
  network.cluster_ip("ip");
  network.answers = {{"a", kMesh}, {"ip", kPassed}};
  network.pods({{"a", false}});
  EXPECT_EQ(network.until(kStart + 1s), "");

  network.answers["a"] = kPassed;

  EXPECT_EQ(network.until(kStart + 2s), "+a");
}

// Row 53.
TEST(Destinations, MeshModeDisabledBelievesThePlatformWithoutAProbe) {
  Network network({.mode = MeshMode::disabled});

  EXPECT_EQ(network.pods({{"a", true}, {"b", false}}), "+a");
  network.round();
  EXPECT_EQ(network.asked, "b");
}

// Row 54.
TEST(Destinations, PassthroughNeverMeansTheClusterIp) {
  Network network({.passthrough_lb = true});
  network.cluster_ip("ip");
  network.answers = {{"a", kMesh}, {"ip", kPassed}};
  network.pods({{"a", true}});

  EXPECT_EQ(network.until(kStart + 60s), "");
  EXPECT_EQ(network.asked, "a");
}

// Row 55.
TEST(Destinations, PodThatFailsItsProbeHoldsNobodyElseBack) {
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
TEST(Destinations, PodThatDisappearsIsGone) {
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
TEST(Destinations, LastPodInUseSurvivesAMomentOfSilence) {
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

TEST(Destinations, SidecarThatSaysNoIsBelievedAtOnce) {
  Network network;
  network.answers = {{"a", kPassed}};
  network.pods({{"a", true}});
  network.round();

  network.answers["a"] = kNotReady;
  network.pod("a", false);

  EXPECT_EQ(network.round(), "-a");
}

TEST(Destinations, PodThatRequestsFailOnIsProbed) {
  Network network;
  network.answers = {{"a", kPassed}, {"b", kPassed}};
  network.pods({{"a", true}, {"b", true}});
  network.round();

  network.answers["a"] = kSilent;
  network.destinations.suspect("a", network.now);
  network.destinations.suspect("nobody", network.now);

  EXPECT_EQ(network.round(), "-a");
  network.answers["a"] = kPassed;
  EXPECT_EQ(network.until(kStart + 1s), "+a");
}

// Row 59.
TEST(Destinations, WithoutAPrivateServiceNothingChanges) {
  Network network;
  network.answers = {{"a", kMesh}};
  network.pods({{"a", true}});

  EXPECT_EQ(network.until(kStart + 1s), "");
  network.answers["ip"] = kPassed;
  network.cluster_ip("ip");
  EXPECT_EQ(network.until(kStart + 2s), "=ip/1");
}

TEST(Destinations, FailuresAreProbedAgainEverMoreSlowly) {
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

TEST(Destinations, ResultOfAPodThatWentAndCameBackIsNotItsOwn) {
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
