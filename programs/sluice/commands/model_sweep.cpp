#include "programs/sluice/commands/model_sweep.h"

#include "common/json/write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "load/core/quantity.h"
#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr const char* kSweepForm = "write it like --sweep target=10,20,50";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

double milliseconds_of(Duration duration) {
  return to_seconds(duration) * 1e3;
}

// At least as good in all that counts, and better in one.
bool beats(const SweepRow& a, const SweepRow& b) {
  const auto good = [](const SweepRow& row) {
    return std::array{row.replica_seconds, row.wait_p99_ms, static_cast<double>(row.refused)};
  };
  const auto mine = good(a);
  const auto other = good(b);
  bool better = false;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine.at(i) > other.at(i)) return false;
    better = better || mine.at(i) < other.at(i);
  }
  return better;
}

std::string settings_of(const std::vector<std::string>& keys, const SweepRow& row) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    text += (i == 0 ? "" : " ") + keys[i] + "=" + row.values[i];
  }
  return text;
}

Problem wrong_limit(const loadgen::Condition& goal, const std::string& kind, std::string fix) {
  return {"--goal '" + goal.text + "': '" + goal.value + "' is no " + kind, std::move(fix)};
}

void print_json(std::ostream& out, const std::vector<std::string>& keys,
                const std::vector<SweepRow>& rows, const Goal* goal) {
  json all = json::array();
  for (const SweepRow& row : rows) {
    json settings = json::object();
    for (std::size_t i = 0; i < keys.size(); ++i) settings[keys[i]] = row.values[i];
    json one = {{"settings", std::move(settings)},
                {"replica_seconds", row.replica_seconds},
                {"most_replicas", row.most_replicas},
                {"cold_starts", row.cold_starts},
                {"panics", row.panics},
                {"wait_ms", {{"p50", row.wait_p50_ms}, {"p99", row.wait_p99_ms}}},
                {"refused", row.refused},
                {"unbeaten", row.unbeaten}};
    if (goal != nullptr) one["meets_goal"] = row.meets_goal;
    all.push_back(std::move(one));
  }
  json document = {{"runs", std::move(all)}};
  if (goal != nullptr) {
    const auto best = cheapest(rows);
    document["goal"] = goal->text();
    document["cheapest"] = best ? json(*best) : json{};
  }
  out << json_line(document) << "\n";
}

void print_csv(std::ostream& out, const std::vector<std::string>& keys,
               const std::vector<SweepRow>& rows) {
  out << fmt::format(
      "{},replica_seconds,most_replicas,cold_starts,panics,wait_p50_ms,wait_p99_ms,refused,"
      "unbeaten,meets_goal\n",
      fmt::join(keys, ","));
  for (const SweepRow& row : rows) {
    out << fmt::format("{},{},{},{},{},{},{},{},{},{}\n", fmt::join(row.values, ","),
                       row.replica_seconds, row.most_replicas, row.cold_starts, row.panics,
                       row.wait_p50_ms, row.wait_p99_ms, row.refused, row.unbeaten, row.meets_goal);
  }
}

void print_text(std::ostream& out, const std::vector<std::string>& keys,
                const std::vector<SweepRow>& rows, const Goal* goal) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    widths.push_back(keys[i].size());
    for (const SweepRow& row : rows) widths[i] = std::max(widths[i], row.values[i].size());
    out << fmt::format("{:>{}}  ", keys[i], widths[i]);
  }
  out << fmt::format("{:>15}{:>6}{:>13}{:>8}{:>10}{:>10}{:>9}\n", "replica-seconds", "most",
                     "cold starts", "panics", "p50 ms", "p99 ms", "refused");
  for (const SweepRow& row : rows) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      out << fmt::format("{:>{}}  ", row.values[i], widths[i]);
    }
    out << fmt::format("{:>15.1f}{:>6}{:>13}{:>8}{:>10.1f}{:>10.1f}{:>9}{}\n", row.replica_seconds,
                       row.most_replicas, row.cold_starts, row.panics, row.wait_p50_ms,
                       row.wait_p99_ms, row.refused, row.unbeaten ? "  *" : "");
  }
  out << "\n* no other run has fewer replica-seconds, a shorter p99 of the wait or fewer refused "
         "without more of another\n";
  if (goal == nullptr) return;
  const auto best = cheapest(rows);
  out << (best ? fmt::format("cheapest with {}: {}\n", goal->text(), settings_of(keys, rows[*best]))
               : fmt::format("no run has {}\n", goal->text()));
}

}  // namespace

Result<Sweep, Problem> Sweep::parse(const std::vector<std::string>& sweeps) {
  Sweep sweep;
  std::size_t runs = 1;
  for (const std::string& each : sweeps) {
    const std::size_t equals = each.find('=');
    std::string key = each.substr(0, equals);
    if (equals == std::string::npos || key.empty()) {
      return Problem{"--sweep: " + each + " is not KEY=VALUE,VALUE", kSweepForm};
    }
    if (std::find(sweep.keys_.begin(), sweep.keys_.end(), key) != sweep.keys_.end()) {
      return Problem{"--sweep: " + key + " is there twice", "give all its values in one"};
    }
    sweep.keys_.push_back(std::move(key));
    sweep.values_.push_back(split(std::string_view{each}.substr(equals + 1)));
    runs *= sweep.values_.back().size();
    if (runs > kRunsMax) {
      return Problem{"--sweep: these are more than " + std::to_string(kRunsMax) + " runs",
                     "give fewer values"};
    }
  }
  return sweep;
}

std::optional<Problem> Sweep::conflict_with(const std::vector<std::string>& sets) const {
  for (const std::string& set : sets) {
    const std::string key = set.substr(0, set.find('='));
    if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) continue;
    return Problem{"--set, --sweep: " + key + " is in both", "remove it from one"};
  }
  return std::nullopt;
}

std::vector<std::vector<std::string>> Sweep::runs() const {
  std::vector<std::vector<std::string>> all{{}};
  for (const std::vector<std::string>& values : values_) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& run : all) {
      for (const std::string& value : values) {
        longer.push_back(run);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Result<Goal, Problem> Goal::parse(std::string_view text) {
  auto condition = loadgen::parse_condition(text, "--goal", "'wait.p99 < 200ms' or 'refused == 0'");
  if (!condition) return condition.error();
  Goal goal;
  goal.condition_ = std::move(*condition);
  const std::string& value = goal.condition_.value;
  if (!goal.find_figure(goal.condition_.figure)) {
    return Problem{"--goal: unknown figure '" + goal.condition_.figure + "'",
                   "use wait.p0 to wait.p99.99, wait.max, refused, cold_starts, panics, "
                   "replicas.max and replica_seconds"};
  }
  if (goal.figure_ == Figure::wait || goal.figure_ == Figure::wait_max) {
    const auto time = loadgen::parse_duration(value, "--goal");
    if (!time) return wrong_limit(goal.condition_, "time", "write one with its unit, like 200ms");
    goal.limit_ = to_seconds(*time);
    return goal;
  }
  const auto number = loadgen::parse_number(value);
  if (!number) return wrong_limit(goal.condition_, "number", "write a plain number");
  goal.limit_ = *number;
  return goal;
}

bool Goal::find_figure(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Figure>, 6> kNames{
      {{"wait.max", Figure::wait_max},
       {"refused", Figure::refused},
       {"cold_starts", Figure::cold_starts},
       {"panics", Figure::panics},
       {"replicas.max", Figure::replicas_max},
       {"replica_seconds", Figure::replica_seconds}}};
  for (const auto& [known, figure] : kNames) {
    if (name != known) continue;
    figure_ = figure;
    return true;
  }
  constexpr std::string_view kWait = "wait.";
  if (!name.starts_with(kWait)) return false;
  const auto percent = loadgen::parse_percentile(name.substr(kWait.size()));
  percent_ = percent.value_or(0);
  return percent.has_value();
}

double Goal::actual(const simulation::Outcome& outcome) const {
  switch (figure_) {
    case Figure::wait:
      return to_seconds(outcome.waits.percentile(percent_));
    case Figure::wait_max:
      return to_seconds(outcome.waits.max());
    case Figure::refused:
      return static_cast<double>(outcome.refused);
    case Figure::cold_starts:
      return static_cast<double>(outcome.cold_starts);
    case Figure::panics:
      return static_cast<double>(outcome.panics);
    case Figure::replicas_max:
      return outcome.pods_max;
    case Figure::replica_seconds:
      return outcome.pod_seconds;
  }
  return 0;
}

bool Goal::met(const simulation::Outcome& outcome) const {
  return loadgen::holds(condition_.comparison, actual(outcome), limit_);
}

SweepRow sweep_row(std::vector<std::string> values, const simulation::Outcome& outcome) {
  return {.values = std::move(values),
          .replica_seconds = outcome.pod_seconds,
          .most_replicas = outcome.pods_max,
          .cold_starts = outcome.cold_starts,
          .panics = outcome.panics,
          .wait_p50_ms = milliseconds_of(outcome.waits.percentile(50)),
          .wait_p99_ms = milliseconds_of(outcome.waits.percentile(99)),
          .refused = outcome.refused};
}

void mark_unbeaten(std::vector<SweepRow>& rows) {
  for (SweepRow& row : rows) {
    row.unbeaten = std::none_of(rows.begin(), rows.end(),
                                [&row](const SweepRow& other) { return beats(other, row); });
  }
}

std::optional<std::size_t> cheapest(const std::vector<SweepRow>& rows) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].meets_goal) continue;
    if (!best || rows[i].replica_seconds < rows[*best].replica_seconds) best = i;
  }
  return best;
}

void print_sweep(std::ostream& out, ReplayFormat format, const std::vector<std::string>& keys,
                 const std::vector<SweepRow>& rows, const Goal* goal) {
  switch (format) {
    case ReplayFormat::json:
      return print_json(out, keys, rows, goal);
    case ReplayFormat::csv:
      return print_csv(out, keys, rows);
    case ReplayFormat::text:
      return print_text(out, keys, rows, goal);
  }
}

}  // namespace sluice::commands
