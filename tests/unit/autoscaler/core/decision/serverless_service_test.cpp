#include "autoscaler/core/decision/serverless_service.h"

#include "common/ring/hash_ring.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

std::vector<std::string> activators(int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back("act" + std::to_string(i));
  return list;
}

ServerlessView view(RouteMode mode, std::vector<std::string> pods,
                    std::vector<std::string> all_activators, std::int32_t count = 0) {
  return {.name = "app-00001",
          .mode = mode,
          .activators = count,
          .pods = std::move(pods),
          .all_activators = std::move(all_activators),
          .proxied_since = std::nullopt};
}

// "proxy to act0 act1"
std::string routed(const ServerlessView& seen) {
  const ServerlessPlan plan = plan_serverless(seen, kStart);
  std::string text{name(plan.mode)};
  text += " to";
  for (const std::string& address : plan.addresses) text += " " + address;
  return text;
}

TEST(ServerlessService, FollowsItsSpecWhenBothAreThere) {
  EXPECT_EQ(routed(view(RouteMode::serve, {"pod0"}, activators(2))), "serve to pod0");
  EXPECT_EQ(routed(view(RouteMode::proxy, {"pod0"}, activators(2))), "proxy to act0 act1");
}

// Row 81.
TEST(ServerlessService, WithoutReadyPodsServeBecomesProxy) {
  EXPECT_EQ(routed(view(RouteMode::serve, {}, activators(2))), "proxy to act0 act1");
}

// Row 82.
TEST(ServerlessService, WithoutActivatorsProxyBecomesServe) {
  EXPECT_EQ(routed(view(RouteMode::proxy, {"pod0"}, {})), "serve to pod0");
}

// Row 83.
TEST(ServerlessService, WithNeitherItServesNoAddress) {
  EXPECT_EQ(routed(view(RouteMode::proxy, {}, {})), "serve to");
  EXPECT_EQ(routed(view(RouteMode::serve, {}, {})), "serve to");
}

// Row 84.
TEST(ServerlessService, MoreActivatorsThanThereAreMeansAll) {
  EXPECT_EQ(routed(view(RouteMode::proxy, {}, activators(3), 5)), "proxy to act0 act1 act2");
}

TEST(ServerlessService, ZeroActivatorsMeansAll) {
  EXPECT_EQ(routed(view(RouteMode::proxy, {}, activators(3), 0)), "proxy to act0 act1 act2");
}

TEST(ServerlessService, ActivatorsAreChosenByItsName) {
  const ServerlessView seen = view(RouteMode::proxy, {}, activators(20), 4);

  EXPECT_EQ(plan_serverless(seen, kStart).addresses,
            ring::choose_subset(activators(20), 4, "app-00001"));
}

TEST(ServerlessService, RepeatedAndManyActivatorsAreAccepted) {
  std::vector<std::string> twice = activators(3);
  for (const std::string& address : activators(3)) twice.push_back(address);
  EXPECT_EQ(plan_serverless(view(RouteMode::proxy, {}, twice, 5), kStart).addresses.size(), 3U);

  EXPECT_EQ(
      plan_serverless(view(RouteMode::proxy, {}, activators(3000), 5), kStart).addresses.size(),
      5U);
}

TEST(ServerlessService, IsReadyOnlyWithAReadyPod) {
  EXPECT_TRUE(plan_serverless(view(RouteMode::proxy, {"pod0"}, {}), kStart).endpoints_populated);
  EXPECT_FALSE(
      plan_serverless(view(RouteMode::serve, {}, activators(2)), kStart).endpoints_populated);
}

TEST(ServerlessService, ProxyClockRunsInProxyOrWithoutPods) {
  const auto since = [](const ServerlessView& seen) {
    return plan_serverless(seen, kStart).proxied_since;
  };

  EXPECT_EQ(since(view(RouteMode::proxy, {"pod0"}, {})), kStart) << "what the spec asks for counts";
  EXPECT_EQ(since(view(RouteMode::serve, {}, activators(2))), kStart);
  EXPECT_EQ(since(view(RouteMode::serve, {"pod0"}, activators(2))), std::nullopt);
}

TEST(ServerlessService, ProxyClockContinuesUntilTrafficLeavesTheActivators) {
  ServerlessView seen = view(RouteMode::proxy, {"pod0"}, activators(2));
  seen.proxied_since = kStart - seconds{20};
  EXPECT_EQ(plan_serverless(seen, kStart).proxied_since, kStart - seconds{20});

  seen.mode = RouteMode::serve;
  EXPECT_EQ(plan_serverless(seen, kStart).proxied_since, std::nullopt);
}

}  // namespace
}  // namespace sluice::autoscaler
