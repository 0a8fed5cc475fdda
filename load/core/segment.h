#pragma once

#include "common/time/time_point.h"

#include <cstdint>

namespace sluice::loadgen {

inline constexpr double kRateMax = 1'000'000;

/// How the rate moves within a segment.
enum class Curve : std::uint8_t {
  linear,       ///< by the same difference each second
  exponential,  ///< by the same factor each second
  sine,         ///< from the lowest rate to the highest and back, once in each period
};

/// A stretch of a run whose rate follows one formula. With two members it has one rate; 0 is a
/// pause.
struct Segment {
  double per_second = 0;  ///< at its beginning, of a sine the lowest: 0 to kRateMax
  Duration length{0};
  double to_per_second = per_second;  ///< at its end, of a sine the highest: 0 to kRateMax
  Curve curve = Curve::linear;        ///< exponential: both rates are above 0
  Duration period{0};                 ///< of a sine, above 0: from one lowest rate to the next

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// The mean number of arrivals in `segment`: the integral of its rate, by formula.
[[nodiscard]] double expected_arrivals(const Segment& segment);

/// The mean number of arrivals from the start of `segment` to `until`, from 0 to its length.
[[nodiscard]] double expected_arrivals(const Segment& segment, Duration until);

/// When so much of the integral has passed, in seconds from the start of `segment`. `arrivals` is
/// from 0 to below expected_arrivals(). Later arrivals are never earlier by more than rounding.
[[nodiscard]] double seconds_until(const Segment& segment, double arrivals);

/// The rate with which `segment` ends, per second.
[[nodiscard]] double rate_at_end(const Segment& segment);

}  // namespace sluice::loadgen
