#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include "load/core/service_times.h"
#include <cstdint>
#include <memory>
#include <random>
#include <string_view>

namespace sluice::simulation {

/// How long something takes each time: a rule that times are drawn by. One seed gives the same
/// times on every machine.
class Times {
 public:
  /// None is longer, whatever the rule.
  static constexpr Duration kLongest = std::chrono::hours{24};
  /// Of a lognormal rule.
  static constexpr double kSigmaMax = 5;

  static Times fixed(Duration always) { return {Rule::even, always, always}; }

  static Times even(Duration from, Duration to) { return {Rule::even, from, to}; }

  static Times exponential(Duration mean) { return {Rule::exponential, mean, mean}; }

  /// `sigma`: the standard deviation of the logarithm, 0 to kSigmaMax.
  static Times lognormal(Duration median, double sigma) {
    Times times{Rule::lognormal, median, median};
    times.sigma_ = sigma;
    return times;
  }

  /// As often as was measured.
  static Times measured(loadgen::ServiceTimes shares);

  /// Reads `100ms` or `fixed:100ms`, `exp:100ms` (the mean) or `lognormal:100ms,0.5` (median and
  /// sigma). The problem names `flag` and a form that is right.
  [[nodiscard]] static Result<Times, Problem> parse(std::string_view text, std::string_view flag);

  [[nodiscard]] Duration draw(std::mt19937_64& random) const;

 private:
  enum class Rule : std::uint8_t { even, exponential, lognormal, measured };

  Times(Rule rule, Duration from, Duration to) : rule_{rule}, from_{from}, to_{to} {}

  Rule rule_;
  Duration from_;  // even: the least; else the mean or the median
  Duration to_;    // even: the most
  double sigma_ = 0;
  std::shared_ptr<const loadgen::ServiceTimes> shares_;  // measured: never null
};

}  // namespace sluice::simulation
