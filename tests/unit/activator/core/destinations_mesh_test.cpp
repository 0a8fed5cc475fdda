// When the private Service of a revision is the way to its pods.

#include "tests/unit/activator/core/destinations_network.h"

#include <gtest/gtest.h>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;
using testing::kMesh;
using testing::kNotReady;
using testing::kPassed;
using testing::kSilent;
using testing::kStart;
using testing::Network;

// activator.md 14.6.
TEST(Destinations, RefusalByASidecarDoesNotIndicateAMesh) {
  EXPECT_EQ(judge_probe(503, "", true), kNotReady);

  Network network;
  network.cluster_ip("ip");
  network.pods({{"a", true}});
  network.answers = {{"a", kNotReady}, {"ip", kPassed}};

  EXPECT_EQ(network.until(kStart + 5s), "");
}

TEST(Destinations, MeshModesAreFoundByName) {
  EXPECT_EQ(parse_mesh_mode("auto"), MeshMode::automatic);
  EXPECT_EQ(parse_mesh_mode("enabled"), MeshMode::enabled);
  EXPECT_EQ(parse_mesh_mode("disabled"), MeshMode::disabled);
  EXPECT_EQ(parse_mesh_mode("Auto"), std::nullopt);
}

// Row 49.
TEST(Destinations, FailingPodDoesNotSwitchToTheClusterIp) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kNotReady}, {"b", kMesh}, {"ip", kPassed}};
  network.pods({{"a", true}, {"b", true}});

  EXPECT_EQ(network.until(kStart + 10s), "");
}

// Row 50.
TEST(Destinations, ClusterIpIsUsedWhenEveryPodIndicatesAMesh) {
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

TEST(Destinations, OneProbeWithoutAnAnswerDoesNotIndicateAMesh) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kSilent}, {"ip", kPassed}};
  network.pods({{"a", true}});

  EXPECT_EQ(network.round(), "");
  EXPECT_EQ(network.round(), "");
  EXPECT_EQ(network.until(kStart + 1s), "=ip/1");
}

TEST(Destinations, ClusterIpIsNotProbedWhilePodsStart) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kSilent}, {"ip", kPassed}};
  network.pods({{"a", false}});

  EXPECT_EQ(network.until(kStart + 5s), "");
  EXPECT_EQ(network.asked, "a");

  EXPECT_EQ(network.pod("a", true), "");
  EXPECT_EQ(network.until(kStart + 6s), "=ip/1");
}

TEST(Destinations, ProbeResultsOfAStartingPodDoNotSwitchToTheClusterIp) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kSilent}, {"ip", kPassed}};
  network.pods({{"a", false}});
  EXPECT_EQ(network.until(kStart + 5s), "");

  network.answers["a"] = kPassed;
  EXPECT_EQ(network.pod("a", true), "");
  EXPECT_EQ(network.round(), "+a");
  EXPECT_EQ(network.asked, "a");
}

TEST(Destinations, AClusterIpThatRequestsFailOnIsProbedAndStaysIfItAnswers) {
  Network network;
  network.cluster_ip("ip");
  network.answers = {{"a", kMesh}, {"ip", kPassed}};
  network.pods({{"a", true}});
  EXPECT_EQ(network.until(kStart + 1s), "=ip/1");

  network.destinations.suspect_cluster_ip(network.now);
  EXPECT_EQ(network.round(), "");
  EXPECT_EQ(network.asked, "ip");
  EXPECT_EQ(network.until(kStart + 29s), "");
}

TEST(Destinations, AClusterIpThatFailsItsCheckIsLeftAndPodsAreTriedAtOnce) {
  for (const ProbeResult failure : {kMesh, kSilent}) {
    Network network;
    network.cluster_ip("ip");
    network.answers = {{"a", kMesh}, {"ip", kPassed}};
    network.pods({{"a", true}});
    EXPECT_EQ(network.until(kStart + 1s), "=ip/1");
    network.answers = {{"a", kPassed}, {"ip", failure}};

    network.destinations.suspect_cluster_ip(network.now);

    EXPECT_EQ(network.until(kStart + 2s), "!ip +a");
  }
}

TEST(Destinations, PodsAddedDuringTheProbeOfTheClusterIpAreUsedFirst) {
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
  EXPECT_EQ(network.pod("b", true), "");
  EXPECT_EQ(network.until(network.now + 1s), "=ip/1");
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
TEST(Destinations, MeshModeDisabledUsesReadyPodsWithoutAProbe) {
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

}  // namespace
}  // namespace sluice::activator
