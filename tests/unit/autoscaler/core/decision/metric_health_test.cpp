#include "autoscaler/core/decision/metric_health.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

// Row 94.
TEST(MetricHealth, TheSameErrorTwiceIsOneStatusChange) {
  MetricHealth health;

  EXPECT_TRUE(health.scraped(ScrapeError::pods_exhausted));
  EXPECT_FALSE(health.scraped(ScrapeError::pods_exhausted));
}

TEST(MetricHealth, AnotherErrorAndTheEndOfErrorsAreChanges) {
  MetricHealth health;
  EXPECT_FALSE(health.scraped(std::nullopt)) << "it began without an error";
  EXPECT_TRUE(health.scraped(ScrapeError::bad_status));

  EXPECT_TRUE(health.scraped(ScrapeError::pods_exhausted));
  EXPECT_TRUE(health.scraped(std::nullopt));
}

}  // namespace
}  // namespace sluice::autoscaler
