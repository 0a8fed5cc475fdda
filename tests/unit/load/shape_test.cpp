#include "load/core/shape.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

std::vector<Segment> segments_of(std::string_view text) {
  auto shape = parse_shape(text);
  EXPECT_TRUE(shape) << text << ": " << (shape ? "" : shape.error().text());
  return shape ? *std::move(shape) : std::vector<Segment>{};
}

std::string problem_of(std::string_view text) {
  const auto shape = parse_shape(text);
  return shape ? "accepted" : shape.error().text();
}

double arrivals_of(std::string_view text) {
  double sum = 0;
  for (const Segment& segment : segments_of(text)) sum += expected_arrivals(segment);
  return sum;
}

TEST(Shape, ReadsEachKindOfItem) {
  EXPECT_EQ(segments_of("step 20:10s, 400:1m30s,0.5:500ms, step 3 : 1s"),
            (std::vector<Segment>{{20, 10s}, {400, 90s}, {0.5, 500ms}, {3, 1s}}));
  EXPECT_EQ(segments_of("20:10s"), (std::vector<Segment>{{20, 10s}}));
  EXPECT_EQ(segments_of("ramp 20-400:10s, ramp 400 - 0:1m"),
            (std::vector<Segment>{{20, 10s, 400}, {400, 60s, 0}}));
  EXPECT_EQ(segments_of("exp 1-1000:5m"),
            (std::vector<Segment>{{1, 300s, 1000, Curve::exponential}}));
  EXPECT_EQ(segments_of("sine 10-50/1m:10m"),
            (std::vector<Segment>{{10, 600s, 50, Curve::sine, 60s}}));
  EXPECT_EQ(segments_of("pause 30s"), (std::vector<Segment>{{0, 30s}}));
}

TEST(Shape, SpikeReturnsToTheRateBeforeIt) {
  EXPECT_EQ(segments_of("spike 400:10s"), (std::vector<Segment>{{0, 5s, 400}, {400, 5s, 0}}));
  EXPECT_EQ(
      segments_of("20:1s, spike 400:10s, spike 40:3ns"),
      (std::vector<Segment>{{20, 1s}, {20, 5s, 400}, {400, 5s, 20}, {20, 1ns, 40}, {40, 2ns, 20}}));
  EXPECT_EQ(segments_of("ramp 5-7:1s, spike 9:2s")[1], (Segment{7, 1s, 9}));
  EXPECT_NEAR(segments_of("sine 10-50/4s:2s, spike 90:2s")[1].per_second, 50, 1e-12);
  EXPECT_EQ(segments_of("sine 10-50/4s:8s, spike 90:2s")[1].per_second, 10);
  EXPECT_NEAR(segments_of("day 0-100:24h, spike 90:2s")[24].per_second, 28, 1e-12);
}

TEST(Shape, DayCoversItsTimeFromLowToHigh) {
  const auto day = segments_of("day 10-110:1h");

  ASSERT_EQ(day.size(), 24U);
  Duration length{0};
  double low = 1e9;
  double high = 0;
  for (std::size_t hour = 0; hour < day.size(); ++hour) {
    length += day[hour].length;
    low = std::min(low, day[hour].per_second);
    high = std::max(high, day[hour].per_second);
    EXPECT_EQ(day[hour].to_per_second, day[(hour + 1) % 24].per_second) << hour;
  }
  EXPECT_EQ(length, 1h);
  EXPECT_EQ(low, 10);
  EXPECT_EQ(high, 110);
}

TEST(Shape, HasItsExactMean) {
  EXPECT_NEAR(arrivals_of("step 20:10s, 400:20s"), 8200, 1e-9);
  EXPECT_NEAR(arrivals_of("ramp 20-400:10s"), 2100, 1e-9);
  EXPECT_NEAR(arrivals_of("exp 1-1000:100s"), 99900 / 6.907755278982137, 1e-7);
  EXPECT_NEAR(arrivals_of("sine 10-50/1m:10m"), 18000, 1e-8);
  EXPECT_NEAR(arrivals_of("100:1s, spike 400:10s"), 2600, 1e-9);
  EXPECT_NEAR(arrivals_of("day 10-110:1h"), (10 + 0.575 * 100) * 3600, 1e-6);
  EXPECT_EQ(arrivals_of("pause 1h"), 0);
}

// Each row: the shape, and what its problem has to contain.
TEST(Shape, ErrorsNameTheColumnAndAFormThatIsRight) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"", "column 1: an item is missing; write one, like 'step 20:10s'"},
      {"   ", "an item is missing"},
      {"20:10s,", "column 8: an item is missing"},
      {"20:10s,,5:1s", "column 8: an item is missing"},
      {"step", "column 5: the item has no time after a colon: ''; write it like 'step 20:10s'"},
      {"step 20", "column 6: the item has no time after a colon: '20'"},
      {"step 20:", "column 9: the time of the item is not a duration: ''"},
      {"step :10s", "column 6: not a rate: ''"},
      {"step 20:10", "column 9: the time of the item is not a duration: '10'"},
      {"step 20:-10s", "column 9: the time of the item is not a duration: '-10s'"},
      {"step 20:0s", "column 9: the time of the item is zero; give for example 10s"},
      {"step 20:25h", "column 9: the time of the item is longer than a day"},
      {"step -1:10s", "column 6: not a rate: '-1'"},
      {"step 1e3:1s", "column 6: not a rate: '1e3'"},
      {"step nan:1s", "column 6: not a rate: 'nan'"},
      {"-1:10s", "column 1: no kind of item: '-1'"},
      {"step 2000000:1s", "column 6: a rate above 1000000/s: '2000000'; give a lower one"},
      {"5:1s, ram 1-2:10s", "column 7: no kind of item: 'ram'; did you mean 'ramp'?"},
      {"zigzag 1-2:10s", "use step, ramp, exp, sine, spike, day or pause"},
      {"ramp 20:10s", "column 6: not two rates with a dash: '20'; write it like 'ramp 20-400:1m'"},
      {"ramp 20-:10s", "column 9: not a rate: ''"},
      {"ramp 1-2-3:10s", "column 8: not a rate: '2-3'"},
      {"exp 0-5:1m", "column 5: an exp has a rate below 0.001: '0-5'; begin with a small rate"},
      {"sine 1-5:1m", "column 6: a sine has no period after a slash; write it like 'sine "},
      {"sine 1-5/0s:1m", "column 10: the period is zero"},
      {"sine 5-1/1s:1m", "column 6: the lower rate is not the first: '5-1'; exchange them"},
      {"day 5-1:1h", "column 5: the lower rate is not the first: '5-1'"},
      {"pause", "column 6: the time of the pause is not a duration: ''"},
      {"pause 5:1s", "column 7: the time of the pause is not a duration: '5:1s'"},
      {"\x1b[2J:1s", "no kind of item: '?[2J'"}};

  for (const auto& [text, wanted] : rows) {
    const std::string problem = problem_of(text);
    EXPECT_TRUE(problem.starts_with("--shape, column ")) << text << ": " << problem;
    EXPECT_NE(problem.find(wanted), std::string::npos) << text << ": " << problem;
  }
}

TEST(Shape, HasAtMostAThousandItems) {
  std::string text = "1:1s";
  for (std::size_t i = 1; i < kShapeItemsMax; ++i) text += ",1:1s";

  EXPECT_EQ(segments_of(text).size(), kShapeItemsMax);
  EXPECT_NE(problem_of(text + ",1:1s").find("more than 1000 items"), std::string::npos);
}

}  // namespace
}  // namespace sluice::loadgen
