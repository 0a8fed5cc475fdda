#include "load/core/expression.h"

#include "common/http/text.h"
#include "common/values/closest_name.h"
#include "common/values/whole_number.h"

#include "load/core/quantity.h"
#include <array>
#include <utility>
#include <vector>

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

std::string_view flag_of(Use use) {
  return use == Use::fail_if ? "--fail-if" : "assert";
}

Problem bad(std::string_view flag, std::string_view text, const std::string& why, std::string fix) {
  return Problem{
      std::string{flag} + " '" + std::string{text.substr(0, kTextBytesMax)} + "': " + why,
      std::move(fix)};
}

struct Name {
  std::string_view name;
  Metric metric;
};

constexpr std::array<Name, 15> kNames{{{"mean", Metric::latency_mean},
                                       {"max", Metric::latency_max},
                                       {"errors", Metric::errors},
                                       {"error_rate", Metric::error_rate},
                                       {"refused", Metric::refused},
                                       {"lost", Metric::lost},
                                       {"non_2xx", Metric::non_2xx},
                                       {"rate", Metric::rate},
                                       {"cold_start.count", Metric::cold_start_count},
                                       {"queue.max", Metric::queue_max},
                                       {"replicas.max", Metric::replicas_max},
                                       {"replicas.seconds", Metric::replica_seconds},
                                       {"panics", Metric::panics},
                                       {"time_to_zero", Metric::time_to_zero},
                                       {"generator", Metric::generator}}};

// What a percentile or a status may stand behind.
constexpr std::array<Name, 5> kPrefixes{{{"service.", Metric::service_percentile},
                                         {"lag.", Metric::lag_percentile},
                                         {"cold_start.", Metric::cold_start},
                                         {"status.", Metric::status},
                                         {"", Metric::latency_percentile}}};

bool parse_metric(std::string_view name, Expression& out) {
  for (const Name& known : kNames) {
    if (name != known.name) continue;
    out.metric = known.metric;
    return true;
  }
  for (const Name& prefix : kPrefixes) {
    if (!name.starts_with(prefix.name)) continue;
    const std::string_view rest = name.substr(prefix.name.size());
    out.metric = prefix.metric;
    if (out.metric == Metric::status) {
      const auto status = whole_number<unsigned>(rest, 100, 999);
      out.status = status.value_or(0);
      return status.has_value();
    }
    const auto percent = parse_percentile(rest);
    out.percent = percent.value_or(0);
    return percent.has_value();
  }
  return false;
}

}  // namespace

bool is_figure_word(std::string_view name) {
  const auto begins = [name](std::string_view figure) {
    return figure.substr(0, figure.find('.')) == name;
  };
  for (const Name& known : kNames) {
    if (begins(known.name)) return true;
  }
  for (const Name& prefix : kPrefixes) {
    if (!prefix.name.empty() && begins(prefix.name)) return true;
  }
  return false;
}

namespace {

// [TARGET.]METRIC[@PHASE]; names are looked up later, where they are known.
bool parse_figure(std::string_view figure, Expression& out) {
  const std::size_t at = figure.find('@');
  if (at != std::string_view::npos) {
    out.phase = figure.substr(at + 1);
    figure = figure.substr(0, at);
    if (out.phase.empty()) return false;
  }
  if (!parse_metric(figure, out)) {
    const std::size_t dot = figure.find('.');
    if (dot == std::string_view::npos || dot == 0) return false;
    out.target = figure.substr(0, dot);
    if (is_figure_word(out.target)) return false;
    if (!parse_metric(figure.substr(dot + 1), out)) return false;
  }
  return out.phase.empty() || !needs_engine(out.metric);
}

ExpressionProblem unknown_figure(std::string_view flag, std::string_view text,
                                 const std::string& figure) {
  std::vector<std::string> names{"p50",        "p90",         "p99",
                                 "p99.9",      "service.p99", "lag.p99",
                                 "status.404", "status.503",  "cold_start.p95"};
  for (const Name& known : kNames) names.emplace_back(known.name);
  const auto closest = closest_name(figure, names);
  return {
      bad(flag, text, "unknown figure '" + figure + "'",
          closest
              ? "did you mean '" + *closest + "'?"
              : "use p0 to p99.99, mean, max, service.p99, lag.p99, errors, error_rate, "
                "refused, lost, non_2xx, status.404, rate, cold_start.p95, "
                "cold_start.count, queue.max, replicas.max, replicas.seconds, panics, time_to_zero "
                "and generator"),
      true};
}

bool is_time(Metric metric) {
  switch (metric) {
    case Metric::latency_percentile:
    case Metric::latency_mean:
    case Metric::latency_max:
    case Metric::service_percentile:
    case Metric::lag_percentile:
    case Metric::cold_start:
    case Metric::time_to_zero:
      return true;
    case Metric::errors:
    case Metric::error_rate:
    case Metric::refused:
    case Metric::lost:
    case Metric::non_2xx:
    case Metric::status:
    case Metric::rate:
    case Metric::cold_start_count:
    case Metric::queue_max:
    case Metric::replicas_max:
    case Metric::replica_seconds:
    case Metric::panics:
    case Metric::generator:
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
  if (metric == Metric::generator) {
    if (text == "on_time") return 0;
    return text == "late" ? std::optional<double>{1} : std::nullopt;
  }
  if (metric == Metric::error_rate && text.ends_with('%')) {
    const auto percent = parse_number(http::trimmed(text.substr(0, text.size() - 1)));
    if (!percent) return std::nullopt;
    return *percent / 100;
  }
  return parse_number(text);
}

ExpressionProblem wrong_value(std::string_view flag, std::string_view text,
                              const Condition& condition, Metric metric) {
  const std::string value = "'" + condition.value + "'";
  if (is_time(metric)) {
    return {bad(flag, text, value + " is no time", "write one with its unit, like 250ms or 75s")};
  }
  if (metric == Metric::generator) {
    return {bad(flag, text, value + " is no state of the generator",
                "write 'generator == on_time' or 'generator != on_time'")};
  }
  return {bad(flag, text, value + " is no number", "write a plain number")};
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
  if (!percent || *percent > 99.99) return std::nullopt;
  return percent;
}

Result<Expression, ExpressionProblem> parse_expression(std::string_view text, Use use) {
  const std::string_view flag = flag_of(use);
  const auto condition =
      parse_condition(text, flag,
                      use == Use::fail_if ? "'p99 > 250ms', 'errors > 0' or 'error_rate > 1%'"
                                          : "'p99 < 250ms', 'errors == 0' or 'error_rate < 1%'");
  if (!condition) return ExpressionProblem{condition.error()};
  Expression out;
  out.text = condition->text;
  out.use = use;
  out.comparison = condition->comparison;
  if (!parse_figure(condition->figure, out)) return unknown_figure(flag, text, condition->figure);
  const auto value = parse_value(condition->value, out.metric);
  const bool ordered =
      out.comparison != Comparison::equal && out.comparison != Comparison::not_equal;
  if (!value || (out.metric == Metric::generator && ordered)) {
    return wrong_value(flag, text, *condition, out.metric);
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
  return metric == Metric::cold_start || metric == Metric::cold_start_count ||
         metric == Metric::queue_max || metric == Metric::replicas_max ||
         metric == Metric::replica_seconds || metric == Metric::panics ||
         metric == Metric::time_to_zero;
}

}  // namespace sluice::loadgen
