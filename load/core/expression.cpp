#include "load/core/expression.h"

#include "common/http/text.h"

#include "load/core/quantity.h"
#include <array>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kTextBytesMax = 200;

constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons{
    {{"<=", Comparison::less_equal},
     {">=", Comparison::greater_equal},
     {"==", Comparison::equal},
     {"!=", Comparison::not_equal},
     {"<", Comparison::less},
     {">", Comparison::greater}}};

constexpr std::string_view kFlag = "--fail-if";

Problem bad(std::string_view flag, std::string_view text, const std::string& why, std::string fix) {
  return Problem{
      std::string{flag} + " '" + std::string{text.substr(0, kTextBytesMax)} + "': " + why,
      std::move(fix)};
}

bool parse_metric(std::string_view name, Expression& out) {
  constexpr std::array<std::pair<std::string_view, Metric>, 5> kNames{
      {{"max", Metric::latency_max},
       {"errors", Metric::errors},
       {"error_rate", Metric::error_rate},
       {"replicas.max", Metric::replicas_max},
       {"time_to_zero", Metric::time_to_zero}}};
  for (const auto& [known, metric] : kNames) {
    if (name != known) continue;
    out.metric = metric;
    return true;
  }
  constexpr std::string_view kColdStart = "cold_start.";
  const bool cold = name.starts_with(kColdStart);
  const auto percent = parse_percentile(cold ? name.substr(kColdStart.size()) : name);
  if (!percent) return false;
  out.metric = cold ? Metric::cold_start : Metric::latency_percentile;
  out.percent = *percent;
  return true;
}

bool is_time(Metric metric) {
  switch (metric) {
    case Metric::latency_percentile:
    case Metric::latency_max:
    case Metric::cold_start:
    case Metric::time_to_zero:
      return true;
    case Metric::errors:
    case Metric::error_rate:
    case Metric::replicas_max:
      return false;
  }
  return false;
}

std::optional<double> parse_value(std::string_view text, Metric metric) {
  if (is_time(metric)) {
    const auto duration = parse_duration(text, "");
    if (!duration) return std::nullopt;
    return to_seconds(*duration);
  }
  if (metric == Metric::error_rate && text.ends_with('%')) {
    const auto percent = parse_number(http::trimmed(text.substr(0, text.size() - 1)));
    if (!percent) return std::nullopt;
    return *percent / 100;
  }
  return parse_number(text);
}

}  // namespace

Result<Condition, Problem> parse_condition(std::string_view text, std::string_view flag,
                                           std::string_view example) {
  const std::string fix = "write it like " + std::string{example};
  if (text.size() > kTextBytesMax) return bad(flag, text, "longer than 200 bytes", fix);
  const std::size_t at = text.find_first_of("<>=!");
  if (at == std::string_view::npos) return bad(flag, text, "no comparison in it", fix);
  const std::string_view rest = text.substr(at);
  for (const auto& [sign, comparison] : kComparisons) {
    if (!rest.starts_with(sign)) continue;
    return Condition{.text = std::string{http::trimmed(text)},
                     .figure = std::string{http::trimmed(text.substr(0, at))},
                     .comparison = comparison,
                     .value = std::string{http::trimmed(rest.substr(sign.size()))}};
  }
  return bad(flag, text, "the comparison is none of < <= > >= == !=", fix);
}

std::optional<double> parse_percentile(std::string_view text) {
  if (!text.starts_with('p')) return std::nullopt;
  const std::optional<double> percent = parse_number(text.substr(1));
  if (!percent || *percent < 50 || *percent > 99.99) return std::nullopt;
  return percent;
}

Result<Expression, Problem> parse_expression(std::string_view text) {
  const auto condition =
      parse_condition(text, kFlag, "'p99 > 250ms', 'errors > 0' or 'error_rate > 1%'");
  if (!condition) return condition.error();
  Expression out;
  out.text = condition->text;
  out.comparison = condition->comparison;
  if (!parse_metric(condition->figure, out)) {
    return bad(kFlag, text, "unknown figure '" + condition->figure + "'",
               "use p50 to p99.99, max, errors, error_rate, cold_start.p95, replicas.max and "
               "time_to_zero");
  }
  const auto value = parse_value(condition->value, out.metric);
  if (!value) {
    const bool time = is_time(out.metric);
    return bad(kFlag, text, "'" + condition->value + (time ? "' is no time" : "' is no number"),
               time ? "write one with its unit, like 250ms or 75s" : "write a plain number");
  }
  out.value = *value;
  return out;
}

bool holds(Comparison comparison, double actual, double limit) {
  switch (comparison) {
    case Comparison::less:
      return actual < limit;
    case Comparison::less_equal:
      return actual <= limit;
    case Comparison::greater:
      return actual > limit;
    case Comparison::greater_equal:
      return actual >= limit;
    case Comparison::equal:
      return actual == limit;
    case Comparison::not_equal:
      return actual != limit;
  }
  return false;
}

bool holds(const Expression& expression, double actual) {
  return holds(expression.comparison, actual, expression.value);
}

bool needs_engine(Metric metric) {
  return metric == Metric::cold_start || metric == Metric::replicas_max ||
         metric == Metric::time_to_zero;
}

}  // namespace sluice::loadgen
