#include "load/core/segment.h"

#include "load/core/portable_math.h"
#include <algorithm>
#include <cmath>

namespace sluice::loadgen {

namespace {

// A sine is mid · (1 - swing · cos(2π · phase)): the phase is the time in periods, and a cycle
// brings mid · period arrivals.
struct Wave {
  double mid;
  double swing;  // 0 to 1
  double period;
};

Wave wave_of(const Segment& sine) {
  const double sum = sine.per_second + sine.to_per_second;
  const double swing = sum > 0 ? (sine.to_per_second - sine.per_second) / sum : 0;
  return {sum / 2, swing, to_seconds(sine.period)};
}

// The part of the last period that the segment has when it ends, exact to the nanosecond.
double last_phase(const Segment& sine) {
  return to_seconds(sine.length % sine.period) / to_seconds(sine.period);
}

// The share of a cycle's arrivals up to `phase`, both from 0 to 1. The second half mirrors the
// first.
double share_at(double phase, double swing) {
  const double half = std::min(phase, 1 - phase);
  const double share = half - swing * portable_sin(2 * kPi * half) / (2 * kPi);
  return phase <= 0.5 ? share : 1 - share;
}

// The inverse is Kepler's equation, angle - swing · sin(angle) = wanted. Up to half a turn the left
// side is convex, so Newton's steps from above come down to the root and never pass it: when they
// no longer come down, they have arrived.
double phase_at(double share, double swing) {
  const double wanted = 2 * kPi * std::min(share, 1 - share);
  double angle = std::min(kPi, wanted + swing);
  if (swing < 1) angle = std::min(angle, wanted / (1 - swing));
  constexpr int kStepsMax = 100;
  for (int i = 0; i < kStepsMax; ++i) {
    const double above = angle - swing * portable_sin(angle) - wanted;
    const double next = angle - above / (1 - swing * portable_cos(angle));
    if (!(next < angle)) break;
    angle = std::max(next, 0.0);
  }
  const double phase = angle / (2 * kPi);
  return share <= 0.5 ? phase : 1 - phase;
}

// Of an exponential: ln(end / beginning).
double growth(const Segment& segment) {
  return portable_log1p((segment.to_per_second - segment.per_second) / segment.per_second);
}

bool is_steady(const Segment& segment) {
  return segment.curve != Curve::sine && segment.per_second == segment.to_per_second;
}

}  // namespace

double expected_arrivals(const Segment& segment) {
  const double seconds = to_seconds(segment.length);
  if (is_steady(segment)) return segment.per_second * seconds;
  switch (segment.curve) {
    case Curve::linear:
      return (segment.per_second + segment.to_per_second) / 2 * seconds;
    case Curve::exponential:
      return (segment.to_per_second - segment.per_second) * seconds / growth(segment);
    case Curve::sine: {
      const Wave wave = wave_of(segment);
      const auto cycles = static_cast<double>(segment.length / segment.period);
      return wave.mid * wave.period * (cycles + share_at(last_phase(segment), wave.swing));
    }
  }
  return 0;
}

double expected_arrivals(const Segment& segment, Duration until) {
  const double share = to_seconds(until) / to_seconds(segment.length);
  Segment part = segment;
  part.length = until;
  if (part.length <= Duration::zero()) return 0;
  if (!is_steady(segment) && segment.curve == Curve::linear) {
    part.to_per_second = segment.per_second + (segment.to_per_second - segment.per_second) * share;
  } else if (!is_steady(segment) && segment.curve == Curve::exponential) {
    part.to_per_second =
        segment.per_second * std::pow(segment.to_per_second / segment.per_second, share);
  }
  return expected_arrivals(part);
}

double seconds_until(const Segment& segment, double arrivals) {
  if (arrivals <= 0) return 0;
  const double seconds = to_seconds(segment.length);
  const double from = segment.per_second;
  if (is_steady(segment)) return arrivals / from;
  switch (segment.curve) {
    case Curve::linear: {
      const double slope = (segment.to_per_second - from) / seconds;
      const double square = std::max(from * from + 2 * slope * arrivals, 0.0);
      return 2 * arrivals / (from + std::sqrt(square));
    }
    case Curve::exponential: {
      const double per_second = growth(segment) / seconds;
      return portable_log1p(arrivals * per_second / from) / per_second;
    }
    case Curve::sine: {
      const Wave wave = wave_of(segment);
      const double cycles = arrivals / (wave.mid * wave.period);
      const double whole = std::floor(cycles);
      return (whole + phase_at(cycles - whole, wave.swing)) * wave.period;
    }
  }
  return 0;
}

double rate_at_end(const Segment& segment) {
  if (segment.curve != Curve::sine) return segment.to_per_second;
  const double phase = last_phase(segment);
  const double risen = (1 - portable_cos(2 * kPi * std::min(phase, 1 - phase))) / 2;
  return segment.per_second + (segment.to_per_second - segment.per_second) * risen;
}

}  // namespace sluice::loadgen
