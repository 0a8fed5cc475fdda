#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

enum class Metric {
  latency_percentile,  ///< seconds
  latency_max,         ///< seconds
  errors,              ///< requests
  error_rate,          ///< 0 to 1 of the requests planned
  cold_start,          ///< seconds, a percentile
  replicas_max,
  time_to_zero,  ///< seconds
};

enum class Comparison { less, less_equal, greater, greater_equal, equal, not_equal };

/// FIGURE COMPARISON VALUE, before the words are understood.
struct Condition {
  std::string text;  ///< as it was written, without blanks around it
  std::string figure;
  Comparison comparison = Comparison::greater;
  std::string value;
};

/// Reads a condition of at most 200 bytes. The problem names `flag` and shows `example`.
[[nodiscard]] Result<Condition, Problem> parse_condition(std::string_view text,
                                                         std::string_view flag,
                                                         std::string_view example);

/// The percentile in `p99` or `p99.9`, from 50 to 99.99; nothing if it is none.
[[nodiscard]] std::optional<double> parse_percentile(std::string_view text);

/// Whether `actual` compares to `limit` in this way.
[[nodiscard]] bool holds(Comparison comparison, double actual, double limit);

/// A condition of `--fail-if`, like `p99 > 250ms` (one-machine.md 9).
struct Expression {
  std::string text;  ///< as it was written
  Metric metric = Metric::errors;
  double percent = 0;  ///< of latency_percentile and cold_start
  Comparison comparison = Comparison::greater;
  double value = 0;  ///< in the unit of the metric
};

/// Reads METRIC COMPARISON NUMBER[UNIT]. Times need a unit; `error_rate` takes a fraction or a
/// number with %; counts take none.
[[nodiscard]] Result<Expression, Problem> parse_expression(std::string_view text);

/// Whether `expression` holds for `actual`.
[[nodiscard]] bool holds(const Expression& expression, double actual);

/// True for metrics that only an engine's stream has.
[[nodiscard]] bool needs_engine(Metric metric);

}  // namespace sluice::loadgen
