#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// What a condition is about; the names are in load/README.md.
enum class Metric {
  latency_percentile,  ///< seconds
  latency_mean,        ///< seconds
  latency_max,         ///< seconds
  service_percentile,  ///< seconds, from the actual sending
  lag_percentile,      ///< seconds, from the planned time to the sending
  errors,              ///< requests
  error_rate,          ///< 0 to 1 of the requests planned
  refused,             ///< answers that Sluice made itself
  lost,                ///< requests that were sent and had no whole answer
  non_2xx,             ///< answers with another status than 200 to 299
  status,              ///< answers with this status
  rate,                ///< requests sent in a second
  cold_start,          ///< seconds, a percentile
  cold_start_count,
  queue_max,  ///< requests that an engine held at once
  replicas_max,
  replica_seconds,
  panics,
  time_to_zero,  ///< seconds
  generator,     ///< 0 on time, 1 late
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

/// The percentile in `p99` or `p99.9`, from 0 to 99.99; nothing if it is none.
[[nodiscard]] std::optional<double> parse_percentile(std::string_view text);

/// Whether `actual` compares to `limit` in this way.
[[nodiscard]] bool holds(Comparison comparison, double actual, double limit);

/// What a condition is for.
enum class Use {
  fail_if,    ///< the run has failed where it is true
  assertion,  ///< the run has failed where it is not
};

/// A condition of `--fail-if`, like `p99 > 250ms`, or an assertion of a scenario.
struct Expression {
  std::string text;  ///< as it was written
  Use use = Use::fail_if;
  std::string target;  ///< whose figure it is; empty: of all
  std::string phase;   ///< in which; empty: in the whole run
  Metric metric = Metric::errors;
  double percent = 0;   ///< of percentiles
  unsigned status = 0;  ///< of Metric::status: 100 to 999
  Comparison comparison = Comparison::greater;
  double value = 0;  ///< in the unit of the metric
};

/// Why a text is no expression.
struct ExpressionProblem : Problem {
  bool unknown_figure = false;  ///< what it compares is none of our figures
};

/// Reads [TARGET.]METRIC[@PHASE] COMPARISON NUMBER[UNIT]. Times need a unit; `error_rate` takes a
/// fraction or a number with %; counts take none; `generator` is == or != on_time or late. Figures
/// of the engine have no phase.
[[nodiscard]] Result<Expression, ExpressionProblem> parse_expression(std::string_view text,
                                                                     Use use = Use::fail_if);

/// True if `name` is the first word of a figure, which no target may be called.
[[nodiscard]] bool is_figure_word(std::string_view name);

/// Whether `expression` holds for `actual`.
[[nodiscard]] bool holds(const Expression& expression, double actual);

/// True for metrics that only an engine's stream has.
[[nodiscard]] bool needs_engine(Metric metric);

}  // namespace sluice::loadgen
