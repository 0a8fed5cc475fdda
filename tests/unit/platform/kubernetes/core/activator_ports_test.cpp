#include "platform/kubernetes/core/activator_ports.h"

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
  EXPECT_GE(*first.port_of(kA), ActivatorPorts::kFirst);
  EXPECT_LE(*first.port_of(kA), ActivatorPorts::kLast);
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
  EXPECT_GE(*ports.port_of(kA), ActivatorPorts::kFirst);
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

}  // namespace
}  // namespace sluice::autoscaler
