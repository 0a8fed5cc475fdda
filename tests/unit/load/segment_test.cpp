#include "load/core/segment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

// One of each curve, up and down, and the cases where formulas divide by nothing.
std::vector<Segment> samples() {
  return {{50, 10s},
          {20, 10s, 400},
          {400, 10s, 0},
          {0, 10s, 400},
          {1, 100s, 1000, Curve::exponential},
          {1000, 100s, 0.001, Curve::exponential},
          {100, 100s, 100.0001, Curve::exponential},
          {10, 95s, 50, Curve::sine, 30s},
          {0, 45s, 50, Curve::sine, 30s},
          {10, 10s, 50, Curve::sine, 60s},
          {30, 10s, 30, Curve::sine, 3s}};
}

// The twin: the rate as the grammar words it, with the library's functions.
double rate_at(const Segment& segment, double seconds) {
  const double from = segment.per_second;
  const double to = segment.to_per_second;
  const double share = seconds / to_seconds(segment.length);
  switch (segment.curve) {
    case Curve::linear:
      return from + (to - from) * share;
    case Curve::exponential:
      return from * std::pow(to / from, share);
    case Curve::sine:
      return (from + to) / 2 -
             (to - from) / 2 * std::cos(2 * M_PI * seconds / to_seconds(segment.period));
  }
  return 0;
}

// Simpson's rule over the rate.
double integral(const Segment& segment, double seconds) {
  constexpr int kParts = 2000;
  const double width = seconds / kParts;
  double sum = 0;
  for (int i = 0; i < kParts; ++i) {
    const double at = i * width;
    sum +=
        rate_at(segment, at) + 4 * rate_at(segment, at + width / 2) + rate_at(segment, at + width);
  }
  return sum * width / 6;
}

TEST(Segment, ExpectsTheIntegralOfItsRate) {
  for (const Segment& segment : samples()) {
    const double wanted = integral(segment, to_seconds(segment.length));
    EXPECT_NEAR(expected_arrivals(segment), wanted, wanted * 1e-9)
        << segment.per_second << " to " << segment.to_per_second;
  }
}

TEST(Segment, TimesAreTheInverseOfTheIntegral) {
  constexpr int kParts = 100;
  for (const Segment& segment : samples()) {
    const double all = expected_arrivals(segment);
    double before = 0;
    for (int i = 0; i < kParts; ++i) {
      const double wanted = all * i / kParts;
      const double at = seconds_until(segment, wanted);
      EXPECT_NEAR(integral(segment, at), wanted, 1e-6 + all * 1e-9)
          << segment.per_second << " to " << segment.to_per_second << " at " << at;
      EXPECT_GE(at, before);
      before = at;
    }
    EXPECT_LE(before, to_seconds(segment.length));
  }
}

TEST(Segment, EndsWithTheRateOfItsCurve) {
  for (const Segment& segment : samples()) {
    EXPECT_NEAR(rate_at_end(segment), rate_at(segment, to_seconds(segment.length)), 1e-9);
  }
}

}  // namespace
}  // namespace sluice::loadgen
