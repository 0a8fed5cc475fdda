#include "programs/sluice/simulation/times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace sluice::simulation {
namespace {

constexpr std::size_t kDraws = 20'001;

/// Sorted, in seconds.
std::vector<double> drawn(const std::string& rule) {
  const auto times = Times::parse(rule, "--start");
  EXPECT_TRUE(times) << rule;
  std::mt19937_64 random{1};
  std::vector<double> all;
  for (std::size_t i = 0; i < kDraws; ++i) all.push_back(to_seconds(times->draw(random)));
  std::sort(all.begin(), all.end());
  return all;
}

double mean(const std::vector<double>& all) {
  double sum = 0;
  for (const double one : all) sum += one;
  return sum / static_cast<double>(all.size());
}

TEST(Times, FixedTimeIsAlwaysTheSame) {
  EXPECT_EQ(drawn("800ms").front(), 0.8);
  EXPECT_EQ(drawn("fixed:800ms").back(), 0.8);
}

TEST(Times, ExponentialTimesHaveTheirMeanAndMedian) {
  const auto all = drawn("exp:100ms");

  EXPECT_NEAR(mean(all), 0.1, 0.002);
  EXPECT_NEAR(all[kDraws / 2], 0.1 * std::log(2), 0.002);
}

// Of a lognormal time: its median, exp(sigma² / 2) times that in the mean, and the share of one
// standard deviation above.
TEST(Times, LognormalTimesHaveTheirMedianMeanAndSpread) {
  const auto all = drawn("lognormal:100ms,0.5");

  EXPECT_NEAR(all[kDraws / 2], 0.1, 0.002);
  EXPECT_NEAR(mean(all), 0.1 * std::exp(0.125), 0.002);
  EXPECT_NEAR(all[kDraws * 8413 / 10'000], 0.1 * std::exp(0.5), 0.005);
}

TEST(Times, MeasuredTimesComeAsOftenAsTheyWereMeasured) {
  loadgen::ServiceTimes shares;
  shares.add(0.25, std::chrono::milliseconds{10});
  shares.add(1, std::chrono::milliseconds{40});
  const Times times = Times::measured(std::move(shares));
  std::mt19937_64 random{1};
  double least = 0;
  double sum = 0;
  for (std::size_t i = 0; i < kDraws; ++i) {
    const double time = to_seconds(times.draw(random));
    least += time == 0.010 ? 1 : 0;
    sum += time;
  }

  EXPECT_NEAR(least / kDraws, 0.25, 0.01);
  EXPECT_NEAR(sum / kDraws, 0.25 * 0.010 + 0.75 * 0.025, 0.0005);
}

TEST(Times, NoTimeIsLongerThanADay) {
  EXPECT_EQ(drawn("lognormal:24h,5").back(), to_seconds(Times::kLongest));
}

TEST(Times, TextThatIsNoRuleIsRefusedWithARightForm) {
  for (const char* const text : {"", "100", "gauss:100ms", "lognormal:100ms", "lognormal:100ms,6",
                                 "lognormal:100ms,-1", "exp:", "fixed:1ms,2ms"}) {
    const auto times = Times::parse(text, "--start");
    ASSERT_FALSE(times) << text;
    EXPECT_TRUE(times.error().text().starts_with("--start: ")) << times.error().text();
    EXPECT_NE(times.error().text().find("lognormal:100ms,0.5"), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::simulation
