#include "autoscaler/core/metric_condition.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::autoscaler {
namespace {

std::string shown(const MetricCondition& condition) {
  const std::string status = condition.status == ConditionStatus::yes  ? "True"
                             : condition.status == ConditionStatus::no ? "False"
                                                                       : "Unknown";
  return status + (condition.reason.empty() ? "" : " " + std::string{condition.reason});
}

TEST(MetricCondition, FollowsFromTheScrape) {
  EXPECT_EQ(shown(metric_condition(std::nullopt)), "True");
  EXPECT_EQ(shown(metric_condition(ScrapeError::list_failed)), "Unknown NoEndpoints");
  EXPECT_EQ(shown(metric_condition(ScrapeError::did_not_receive_stat)), "False DidNotReceiveStat");
  EXPECT_EQ(shown(metric_condition(ScrapeError::pods_exhausted)), "False CollectionFailed");
  EXPECT_EQ(shown(metric_condition(ScrapeError::direct_not_available)), "False CollectionFailed");
  EXPECT_EQ(shown(metric_condition(ScrapeError::bad_status)), "False CollectionFailed");
}

// Row 94.
TEST(MetricHealth, TheSameErrorTwiceIsOneStatusChange) {
  MetricHealth health;

  EXPECT_TRUE(health.scraped(ScrapeError::pods_exhausted));
  EXPECT_FALSE(health.scraped(ScrapeError::pods_exhausted));
}

TEST(MetricHealth, AnotherErrorAndTheEndOfErrorsAreChanges) {
  MetricHealth health;
  EXPECT_FALSE(health.scraped(std::nullopt)) << "it began without an error";
  EXPECT_TRUE(health.scraped(ScrapeError::list_failed));

  EXPECT_TRUE(health.scraped(ScrapeError::pods_exhausted));
  EXPECT_TRUE(health.scraped(std::nullopt));
  EXPECT_EQ(shown(health.condition()), "True");
}

}  // namespace
}  // namespace sluice::autoscaler
