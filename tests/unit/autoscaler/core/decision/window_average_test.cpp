#include "autoscaler/core/decision/window_average.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

WindowAverage filled(std::initializer_list<double> values, double from = 0) {
  WindowAverage window{seconds{5}};
  for (const double value : values) window.record(at(from++), value);
  return window;
}

TEST(WindowAverage, YoungWindowDividesByItsAge) {
  EXPECT_EQ(filled({1}).average(at(0)), 1);
  EXPECT_EQ(filled({1, 2, 3, 4, 5}).average(at(4)), 3);
}

TEST(WindowAverage, ReadingBeforeTheLastValueShrinksNothing) {
  EXPECT_EQ(filled({1, 2, 3, 4, 5}).average(at(3.6)), 3);
}

TEST(WindowAverage, SecondsWithoutDataAtTheEndAreUnknownNotZero) {
  EXPECT_EQ(filled({1, 2, 3, 4, 5}).average(at(6)), 4);
}

TEST(WindowAverage, AtExactlyTheWindowItIsZeroAndNotEmpty) {
  const WindowAverage window = filled({1, 2, 3, 4, 5});

  EXPECT_EQ(window.average(at(9)), 0);
  EXPECT_FALSE(window.empty(at(9)));
  EXPECT_TRUE(window.empty(at(10)));
}

TEST(WindowAverage, IsEmptyBeforeTheFirstValue) {
  const WindowAverage window{seconds{5}};

  EXPECT_TRUE(window.empty(at(0)));
  EXPECT_EQ(window.average(at(0)), 0);
}

TEST(WindowAverage, GapInsideTheDataCountsAsZeros) {
  WindowAverage window = filled({1, 2, 3, 4, 5});

  window.record(at(6), 91);

  EXPECT_DOUBLE_EQ(window.average(at(6)), 20.6);
}

TEST(WindowAverage, RestartsAfterAGapOfTheWholeWindow) {
  WindowAverage window = filled({1, 2, 3, 4, 5});

  window.record(at(60), 1984);

  EXPECT_EQ(window.average(at(60)), 1984);
}

TEST(WindowAverage, LateValueInsideTheWindowMovesTheStartBack) {
  WindowAverage window = filled({1984}, 60);

  window.record(at(57), 4);
  EXPECT_EQ(window.average(at(60)), 497);

  window.record(at(55), 9);
  EXPECT_EQ(window.average(at(60)), 497) << "exactly the window old is too old";
}

TEST(WindowAverage, ValueExactlyTheWindowOldIsIgnored) {
  WindowAverage window = filled({6}, 10);

  window.record(at(5), 100);
  EXPECT_EQ(window.average(at(10)), 6);

  window.record(at(6), 4);
  EXPECT_EQ(window.average(at(10)), 2) << "a second younger counts: (4 + 0 + 0 + 0 + 6) / 5";
}

TEST(WindowAverage, ValuesOfOneSecondAddUp) {
  WindowAverage window{seconds{5}};

  window.record(at(0.1), 3);
  window.record(at(0.9), 4);

  EXPECT_EQ(window.average(at(0.95)), 7);
}

TEST(WindowAverage, FutureValueMovesTheWindowForwardAndPresentOnesStillCount) {
  WindowAverage window = filled({10});

  window.record(at(3), 20);
  window.record(at(1), 6);

  EXPECT_EQ(window.average(at(3)), 9) << "(10 + 6 + 0 + 20) / 4";
}

TEST(WindowAverage, DescendingTimesAreTakenUntilTheyAreTooOld) {
  WindowAverage window{seconds{5}};

  for (int second = 8; second >= 0; --second) window.record(at(second), 5);

  EXPECT_EQ(window.average(at(8)), 5);
}

TEST(WindowAverage, ResiduesRoundToZero) {
  WindowAverage window{seconds{5}};
  window.record(at(0), 0.0000004);
  EXPECT_EQ(window.average(at(0)), 0);

  WindowAverage residue{seconds{5}};
  residue.record(at(0), 0.1 + 0.2);
  residue.record(at(0), -0.3);
  EXPECT_EQ(residue.average(at(0)), 0);
}

TEST(WindowAverage, WeightedIsNotNormalised) {
  WindowAverage window{seconds{5}, Aggregation::weighted};

  window.record(at(0), 2);

  EXPECT_NEAR(window.average(at(0)), 1.68302, 1e-5);
  EXPECT_NEAR(window.average(at(1)), 0.26674, 1e-5);
}

TEST(WindowAverage, WeightedNeverKeepsLessThanAFifth) {
  WindowAverage window{seconds{42}, Aggregation::weighted};

  window.record(at(0), 1);

  EXPECT_DOUBLE_EQ(window.average(at(0)), 0.2);
}

TEST(WindowAverage, ResizeKeepsTheNewestValues) {
  WindowAverage window = filled({1, 2, 3, 4, 5, 6}, 100);

  window.resize(seconds{10}, at(105));
  EXPECT_EQ(window.average(at(105)), 4);
  window.record(at(106), 7);
  EXPECT_EQ(window.average(at(106)), 4.5);

  window.resize(seconds{4}, at(106));
  EXPECT_EQ(window.average(at(106)), 5.5);
}

TEST(WindowAverage, ResizeCountsAHalfFilledWindowAsFull) {
  WindowAverage window = filled({10, 10});

  window.resize(seconds{10}, at(1));

  EXPECT_EQ(window.average(at(1)), 4) << "20 over the old five buckets";
}

TEST(WindowAverage, ResizeAfterAGapEmptiesTheWindow) {
  WindowAverage window = filled({10, 10});

  window.resize(seconds{10}, at(30));
  window.record(at(30), 8);

  EXPECT_EQ(window.average(at(30)), 8);
}

TEST(WindowAverage, ResizeToTheSameLengthChangesNothing) {
  WindowAverage window = filled({10, 10});

  window.resize(seconds{5}, at(1));

  EXPECT_EQ(window.average(at(1)), 10);
}

TEST(WindowAverage, ResizeToTheSameLengthKeepsTheWeights) {
  WindowAverage window{seconds{9}, Aggregation::weighted, seconds{2}};
  window.record(at(0), 1);
  const double before = window.average(at(0));

  window.resize(seconds{9}, at(0));

  EXPECT_EQ(window.average(at(0)), before);
}

TEST(WindowAverage, BucketsAreAlignedToUnixTimeBeforeTheEpochToo) {
  WindowAverage window{seconds{5}};
  const TimePoint early = TimePoint{} - std::chrono::milliseconds{500};

  window.record(early, 4);
  window.record(TimePoint{} + std::chrono::milliseconds{500}, 2);

  EXPECT_EQ(window.average(TimePoint{}), 3);
}

// Remembers every accepted value by its second and computes each average from scratch.
class NaiveWindow {
 public:
  explicit NaiveWindow(std::int64_t length) : length_(length) {}

  void record(std::int64_t second, double value) {
    if (!values_.empty()) {
      if (second + length_ <= last_) return;
      if (second - last_ >= length_) values_.clear();
    }
    if (values_.empty()) first_ = last_ = second;
    first_ = std::min(first_, second);
    last_ = std::max(last_, second);
    values_[second] += value;
  }

  [[nodiscard]] double average(std::int64_t now) const {
    if (values_.empty() || now - last_ >= length_) return 0;
    const std::int64_t newest = std::max(now, last_);
    double sum = 0;
    for (const auto& [second, value] : values_) {
      if (second > newest - length_) sum += value;
    }
    const std::int64_t covered = std::min(last_ - first_ + 1, length_ - (newest - last_));
    return std::round(sum / static_cast<double>(covered) * 1e6) / 1e6;
  }

 private:
  std::int64_t length_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::map<std::int64_t, double> values_;
};

// Goal: the running sum never drifts from the history it stands for.
// Method: random steps forward, back and over gaps, values in eighths so that sums are exact.
TEST(WindowAverage, EqualsANaiveTwin) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random{seed};
    const std::int64_t length = std::uniform_int_distribution<std::int64_t>{1, 70}(random);
    std::uniform_int_distribution<std::int64_t> step{-length / 2, length};
    std::uniform_int_distribution<int> eighths{0, 4000};
    WindowAverage window{seconds{length}};
    NaiveWindow twin{length};
    std::int64_t now = 1000;
    for (int i = 0; i < 300; ++i) {
      const bool leap = random() % 40 == 0;
      now += leap ? 2 * length : (random() % 3 == 0 ? step(random) : 1);
      const std::int64_t when = now - static_cast<std::int64_t>(random() % 4);
      const double value = eighths(random) / 8.0;
      window.record(at(static_cast<double>(when)), value);
      twin.record(when, value);
      const auto later = now + static_cast<std::int64_t>(random() % 5);
      ASSERT_NEAR(window.average(at(static_cast<double>(later))), twin.average(later), 1e-6)
          << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace sluice::autoscaler
