#pragma once

#include "load/core/segment.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace sluice::loadgen {

enum class Arrivals {
  uniform,  ///< evenly spaced in the integral of the rate
  poisson,  ///< as independent users arrive: exponential gaps
};

/// The planned send times of an open loop, as offsets from the start of the run. They depend on the
/// arguments and on nothing else, least of all on the answers: that is what makes the loop open.
/// One seed gives one schedule on every machine. Uniform arrivals are within one request of the
/// integral of the rate at every instant.
class ArrivalSchedule {
 public:
  ArrivalSchedule(std::vector<Segment> segments, Arrivals arrivals, std::uint64_t seed);

  /// The next planned time, never before the one taken last; nothing once the last segment is over.
  [[nodiscard]] std::optional<Duration> next() const { return next_; }

  /// Moves on to the arrival after next().
  void take();

 private:
  void plan();
  void enter(std::size_t segment);
  double gap();

  std::vector<Segment> segments_;
  Arrivals arrivals_;
  std::mt19937_64 random_;
  std::size_t segment_ = 0;
  Duration segment_start_{0};
  // Position in expected arrivals rather than in seconds: gaps are drawn at rate 1 and stretched by
  // the integral of the rate, so a gap that spans two segments is right in both.
  double position_ = 0;
  double segment_position_ = 0;
  double segment_arrivals_ = 0;  // expected in the segment
  Duration last_{0};
  std::optional<Duration> next_;
};

}  // namespace sluice::loadgen
