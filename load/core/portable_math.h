#pragma once

#include <cstdint>

// The last bit of a logarithm or a sine differs between C libraries, and one bit can move a planned
// time. These use only operations that IEEE 754 rounds in one way, + - * / and the exponent of a
// number, and are compiled without fused multiply-add, so one seed is one schedule everywhere.
namespace sluice::loadgen {

inline constexpr double kPi = 0x1.921fb54442d18p+1;

/// ln(1 + x) for x > -1; relative error below 1e-15.
[[nodiscard]] double portable_log1p(double x);

/// sin(x) for x from 0 to kPi; absolute error below 1e-15.
[[nodiscard]] double portable_sin(double x);

/// cos(x) for x from 0 to kPi; absolute error below 2e-15. Of 0 it is 1.
[[nodiscard]] double portable_cos(double x);

/// e to the power of x, for x from -700 to 700; relative error below 2e-13.
[[nodiscard]] double portable_exp(double x);

/// A number from 0 to below 1 out of 64 random bits.
[[nodiscard]] constexpr double unit_of(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) * 0x1p-53;
}

/// A gap between two independent arrivals at rate 1, out of 64 random bits. Not
/// std::exponential_distribution, whose sequence each library is free to choose.
[[nodiscard]] inline double exponential_of(std::uint64_t bits) {
  return -portable_log1p(-unit_of(bits));
}

}  // namespace sluice::loadgen
