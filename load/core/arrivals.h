#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// A stretch of a run with one mean rate. Rate 0 is a pause.
struct Segment {
  double per_second = 0;  ///< 0 to kRateMax
  Duration length{0};

  friend bool operator==(const Segment&, const Segment&) = default;
};

enum class Arrivals {
  uniform,  ///< evenly spaced
  poisson,  ///< as independent users arrive: exponential gaps
};

inline constexpr double kRateMax = 1'000'000;
inline constexpr std::size_t kSegmentsMax = 1000;

/// Reads a shape like `step 20:10s, 400:20s` (one-machine.md 9).
[[nodiscard]] Result<std::vector<Segment>, Problem> parse_shape(std::string_view text);

/// The planned send times of an open loop, as offsets from the start of the run. They depend on the
/// arguments and on nothing else, least of all on the answers: that is what makes the loop open.
/// One seed gives one schedule on every machine.
class ArrivalSchedule {
 public:
  ArrivalSchedule(std::vector<Segment> segments, Arrivals arrivals, std::uint64_t seed);

  /// The next planned time, never before the one taken last; nothing once the last segment is over.
  [[nodiscard]] std::optional<Duration> next() const { return next_; }

  /// Moves on to the arrival after next().
  void take();

 private:
  void plan();
  double gap();

  std::vector<Segment> segments_;
  Arrivals arrivals_;
  std::mt19937_64 random_;
  std::size_t segment_ = 0;
  double segment_start_ = 0;  // seconds
  // Position in expected arrivals rather than in seconds: gaps are drawn at rate 1 and stretched by
  // the rate in force, so a gap that spans two segments is right in both.
  double position_ = 0;
  double segment_position_ = 0;
  std::optional<Duration> next_;
};

}  // namespace sluice::loadgen
