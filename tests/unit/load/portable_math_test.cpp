#include "load/core/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::loadgen {
namespace {

TEST(PortableMath, LogarithmAgreesWithTheLibrary) {
  for (int exponent = -60; exponent <= 60; ++exponent) {
    for (double mantissa = 1; mantissa < 2; mantissa += 1.0 / 64) {
      const double x = std::ldexp(mantissa, exponent);
      EXPECT_NEAR(portable_log1p(x) / std::log1p(x), 1, 1e-15) << x;
      if (x >= 1) continue;
      EXPECT_NEAR(portable_log1p(-x) / std::log1p(-x), 1, 1e-15) << -x;
    }
  }
  EXPECT_EQ(portable_log1p(0), 0);
}

TEST(PortableMath, SineAndCosineAgreeWithTheLibrary) {
  constexpr int kSteps = 10'000;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = kPi * i / kSteps;
    EXPECT_NEAR(portable_sin(x), std::sin(x), 1e-15) << x;
    EXPECT_NEAR(portable_cos(x), std::cos(x), 2e-15) << x;
  }
}

TEST(PortableMath, ExponentialAgreesWithTheLibrary) {
  for (int i = -7000; i <= 7000; ++i) {
    const double x = i / 10.0;
    EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 2e-13) << x;
  }
  EXPECT_EQ(portable_exp(0), 1);
}

TEST(PortableMath, ExponentialGapsAreFiniteAtBothEnds) {
  EXPECT_EQ(exponential_of(0), 0);
  EXPECT_NEAR(exponential_of(~std::uint64_t{0}), 53 * std::log(2.0), 1e-12);
}

}  // namespace
}  // namespace sluice::loadgen
