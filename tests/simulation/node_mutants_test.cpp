// Goal: the properties of the simulated node can fail.
// Method: one doctored rule, wire or journal per property.

#include "tests/simulation/node_run.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/quota.h"
#include <string_view>

namespace sluice::node_agent {
namespace {

void throttle(Decision& decision, const Observation& seen, std::string_view id) {
  for (const Container& one : seen.containers) {
    if (one.id == id) decision.throttled.push_back({.id = one.id, .quota = signature(25)});
  }
}

TEST(NodeMutants, RuleThatNeverReleasesIsDetected) {
  const Doctoring sticky{.decision = [](Decision& decision, const Observation& seen) {
    throttle(decision, seen, "service");
  }};
  EXPECT_TRUE(breaks("not restored: service", sticky));
  EXPECT_TRUE(breaks("throttled without a reason", sticky));
}

TEST(NodeMutants, RuleThatThrottlesExemptContainersIsDetected) {
  EXPECT_TRUE(breaks("exempt", {.decision = [](Decision& decision, const Observation& seen) {
                       if (!decision.throttled.empty()) throttle(decision, seen, "exempt");
                     }}));
}

TEST(NodeMutants, RuleThatKillsBystandersIsDetected) {
  EXPECT_TRUE(breaks("killed a bystander", {.decision = [](Decision& decision, const Observation&) {
                       if (!decision.throttled.empty()) decision.sacrifice = Sacrifice{"service"};
                     }}));
}

TEST(NodeMutants, RuleThatThrottlesAllNeverFinishes) {
  EXPECT_TRUE(
      breaks("jobs were done", {.decision = [](Decision& decision, const Observation& seen) {
               decision.throttled.clear();
               for (const Container& one : seen.containers) {
                 decision.throttled.push_back({.id = one.id, .quota = signature(1)});
               }
             }}));
}

TEST(NodeMutants, ReleaseToUnlimitedInsteadOfTheOriginalIsDetected) {
  EXPECT_TRUE(breaks("more than given", {.update = [](CpuQuota& quota) {
                       if (!is_signature(quota)) quota = kUnlimited;
                     }}));
}

TEST(NodeMutants, ReleaseByAQuotaOfZeroIsDetected) {
  EXPECT_TRUE(breaks("quota 0 was sent", {.update = [](CpuQuota& quota) {
                       if (is_unlimited(quota)) quota.quota_us = 0;
                     }}));
}

TEST(NodeMutants, LostJournalIsDetected) {
  EXPECT_TRUE(breaks("not restored", {.loses_journal = true}, {.crash = true}) ||
              breaks("throttled without a reason", {.loses_journal = true}, {.crash = true}));
}

TEST(NodeMutants, LostThawsAreDetected) {
  const Doctoring lost{.loses_thaws = true};
  EXPECT_TRUE(breaks("jobs were done", lost, {}, PolicyKind::foresight));
}

TEST(NodeMutants, RuleThatHoldsWithoutAReasonIsDetected) {
  const Doctoring idle{.decision = [](Decision& decision, const Observation& seen) {
    if (seen.containers.size() > 2) {
      decision.throttled.push_back({.id = seen.containers.back().id, .freeze = true});
    }
  }};
  EXPECT_TRUE(breaks("throttled without a reason", idle, {}, PolicyKind::foresight));
}

TEST(NodeMutants, UnchangedPolicyBreaksNoRule) {
  EXPECT_FALSE(breaks("", {}));
  EXPECT_FALSE(breaks("", {}, {}, PolicyKind::foresight));
}

}  // namespace
}  // namespace sluice::node_agent
