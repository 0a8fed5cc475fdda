#include "platform/kubernetes/core/activator_ports.h"

#include "common/kube/request_scaler.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::autoscaler {
namespace {

const RevisionId kA{"shop", "a"};
const RevisionId kB{"shop", "b"};

TEST(ActivatorPorts, AScalerKeepsThePortOfItsStatus) {
  ActivatorPorts ports;

  EXPECT_EQ(ports.told(kA, 23'456), std::nullopt);

  EXPECT_EQ(ports.port_of(kA), 23'456);
  EXPECT_EQ(ports.told(kA, 23'456), std::nullopt);
}

TEST(ActivatorPorts, AScalerWithoutOneGetsTheSameOneEachTime) {
  ActivatorPorts first;
  ActivatorPorts second;

  EXPECT_EQ(first.port_of(kA), second.port_of(kA));
  EXPECT_GE(*first.port_of(kA), kube::kActivatorPortFirst);
  EXPECT_LE(*first.port_of(kA), kube::kActivatorPortLast);
}

TEST(ActivatorPorts, OfTwoScalersWithOnePortTheFirstByNameKeepsItInAnyOrder) {
  ActivatorPorts ports;
  EXPECT_EQ(ports.told(kB, 20'000), std::nullopt);
  EXPECT_EQ(ports.told(kA, 20'000), kB);

  ActivatorPorts other;
  EXPECT_EQ(other.told(kA, 20'000), std::nullopt);
  EXPECT_EQ(other.told(kB, 20'000), std::nullopt);

  for (ActivatorPorts* each : {&ports, &other}) {
    EXPECT_EQ(each->port_of(kA), 20'000);
    EXPECT_NE(each->port_of(kB), 20'000);
  }
}

TEST(ActivatorPorts, AStatusOutsideTheRangeCountsAsNone) {
  ActivatorPorts ports;
  EXPECT_EQ(ports.told(kA, 80), std::nullopt);
  EXPECT_GE(*ports.port_of(kA), kube::kActivatorPortFirst);
}

TEST(ActivatorPorts, AllAreDifferentUntilNoneIsLeft) {
  ActivatorPorts ports;
  std::set<std::uint16_t> given;
  for (int i = 0; i < 10'000; ++i) {
    const auto port = ports.port_of({"shop", std::to_string(i)});
    ASSERT_TRUE(port && given.insert(*port).second) << i;
  }

  EXPECT_EQ(ports.port_of(kA), std::nullopt);
  ports.forget({"shop", "77"});
  EXPECT_TRUE(ports.port_of(kA).has_value());
}

TEST(ActivatorPorts, AnActivatorPortLiesInTheRangeOfScalers) {
  EXPECT_TRUE(kube::is_activator_port(20'000));
  EXPECT_TRUE(kube::is_activator_port(29'999));
  EXPECT_FALSE(kube::is_activator_port(8012));
  EXPECT_FALSE(kube::is_activator_port(30'000));
  EXPECT_FALSE(kube::is_activator_port(0));
}

}  // namespace
}  // namespace sluice::autoscaler
