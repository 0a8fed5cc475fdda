#include "memory-pressure/core/settings.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::node_agent {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

std::string problem(const PolicySettings& settings) {
  const auto found = check(settings);
  return found ? found->text() : "";
}

TEST(PolicySettings, DefaultsAreValid) {
  EXPECT_EQ(problem({}), "");
}

TEST(PolicySettings, LowerNotBelowUpperIsRefusedNamingBoth) {
  PolicySettings equal;
  equal.lower = equal.upper = 0.7;

  EXPECT_NE(problem(equal).find("--lower 0.7"), std::string::npos);
  EXPECT_NE(problem(equal).find("--upper 0.7"), std::string::npos);

  PolicySettings crossed;
  crossed.lower = 0.95;
  EXPECT_NE(problem(crossed).find("--lower 0.95 is not below --upper 0.9"), std::string::npos);
}

TEST(PolicySettings, EachNumberOutOfRangeIsRefusedByName) {
  const auto refused = [](std::string_view flag, auto change) {
    PolicySettings settings;
    change(settings);
    return problem(settings).starts_with(flag);
  };

  EXPECT_TRUE(refused("--upper 1.1", [](auto& s) { s.upper = 1.1; }));
  EXPECT_TRUE(refused("--upper nan", [](auto& s) { s.upper = std::nan(""); }));
  EXPECT_TRUE(refused("--lower -0.1", [](auto& s) { s.lower = -0.1; }));
  EXPECT_TRUE(refused("--step 0", [](auto& s) { s.step = 0; }));
  EXPECT_TRUE(refused("--escalate-after 0s", [](auto& s) { s.escalate_after = 0s; }));
  EXPECT_TRUE(refused("--escalate-after -1s", [](auto& s) { s.escalate_after = -1s; }));
  EXPECT_TRUE(refused("--quota 0m", [](auto& s) { s.quota_millicores = 0; }));
  EXPECT_TRUE(refused("--quota 1001m", [](auto& s) { s.quota_millicores = 1001; }));
  EXPECT_TRUE(refused("--overcommit-factor 0", [](auto& s) { s.overcommit_factor = 0; }));
  EXPECT_TRUE(refused("--overcommit-factor 1.5", [](auto& s) { s.overcommit_factor = 1.5; }));
  EXPECT_TRUE(refused("--reserve -1", [](auto& s) { s.reserve = -1; }));
  EXPECT_TRUE(refused("--confidence -1", [](auto& s) { s.confidence = -1; }));
  EXPECT_TRUE(refused("--brake 11", [](auto& s) { s.brake = 11; }));
  EXPECT_TRUE(refused("--sight -1s", [](auto& s) { s.sight = -1s; }));
  EXPECT_TRUE(refused("--sample 0.001s", [](auto& s) { s.sample = 1ms; }));
}

TEST(PolicySettings, NamesAreReadAsTheyAreWritten) {
  for (const auto kind : {PolicyKind::foresight, PolicyKind::headroom, PolicyKind::off}) {
    EXPECT_EQ(policy_named(name(kind)), kind);
  }
  for (const auto order : {Order::age, Order::usage, Order::growth}) {
    EXPECT_EQ(order_named(name(order)), order);
  }
  for (const auto hold : {HoldBy::freezer, HoldBy::quota}) EXPECT_EQ(hold_named(name(hold)), hold);
  EXPECT_EQ(hold_named("pause"), std::nullopt);
  EXPECT_EQ(policy_named("best"), std::nullopt);
  EXPECT_EQ(order_named("size"), std::nullopt);
}

}  // namespace
}  // namespace sluice::node_agent
