#include "load/core/portable_math.h"

#include <cmath>

namespace sluice::loadgen {

namespace {

constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// ln((1 + s) / (1 - s)) = 2 (s + s³/3 + s⁵/5 + …), for |s| up to 0.18: what follows s²³ is below
// 1e-18 of the sum.
double twice_atanh(double s) {
  const double square = s * s;
  double sum = 0;
  for (int odd = 23; odd >= 1; odd -= 2) sum = sum * square + 1.0 / odd;
  return 2 * s * sum;
}

}  // namespace

double portable_log1p(double x) {
  const double y = 1 + x;
  // Near 1 the sum above has lost the digits of a small x.
  if (y > kSqrtHalf && y < 2 * kSqrtHalf) return twice_atanh(x / (2 + x));
  int exponent = 0;
  double mantissa = std::frexp(y, &exponent);
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  return exponent * kLn2 + twice_atanh((mantissa - 1) / (mantissa + 1));
}

double portable_exp(double x) {
  const double doublings = std::floor(x / kLn2 + 0.5);
  const double rest = x - doublings * kLn2;
  // 1 + r (1 + r/2 (1 + r/3 (…))): what follows r¹⁵ is below 1e-20 for |r| up to ln(2) / 2.
  double sum = 1;
  for (int power = 15; power >= 1; --power) sum = 1 + rest * sum / power;
  return std::ldexp(sum, static_cast<int>(doublings));
}

double portable_sin(double x) {
  const double near = x > kPi / 2 ? kPi - x : x;
  const double square = near * near;
  // x (1 - x²/(2·3) (1 - x²/(4·5) (…))): what follows x²¹ is below 1e-18 up to a quarter turn.
  double sum = 1;
  for (int even = 20; even >= 2; even -= 2) sum = 1 - square * sum / (even * (even + 1));
  return near * sum;
}

double portable_cos(double x) {
  const double half = portable_sin(x / 2);
  return 1 - 2 * half * half;
}

}  // namespace sluice::loadgen
