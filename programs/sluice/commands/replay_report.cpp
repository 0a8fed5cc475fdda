#include "programs/sluice/commands/replay_report.h"

#include "autoscaler/io/time_text.h"
#include "common/base/clean_text.h"
#include "common/base/version.h"
#include "common/json/write.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace sluice::commands {
namespace {

using autoscaler::format_time;
using nlohmann::json;

constexpr std::size_t kSideColumns = 16;

// 1,204
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t left = digits.size(); left > 3;) {
    left -= 3;
    digits.insert(left, ",");
  }
  return digits;
}

std::string decisions_text(std::uint64_t count) {
  return grouped(count) + (count == 1 ? " decision" : " decisions");
}

std::string shown(const TimelineSide& side) {
  return std::to_string(side.want) + (side.mode == "panic" ? " panic" : "");
}

json side_json(const TimelineSide& side) {
  return {{"want", side.want}, {"mode", side.mode}, {"bound_by", side.bound_by}};
}

json row_json(const TimelineRow& row) {
  return {{"time", format_time(row.at)},
          {"ready", row.ready},
          {"stable", row.stable},
          {"panic", row.panic},
          {"recorded", side_json(row.recorded)},
          {"decided", side_json(row.decided)}};
}

json totals_json(const TimelineTotals& totals) {
  return {{"replica_seconds", totals.replica_seconds}, {"most_replicas", totals.most}};
}

json difference_json(const DecisionDifference& difference) {
  json fields = json::array();
  for (const FieldDifference& field : difference.fields) {
    fields.push_back(
        {{"key", field.key}, {"recorded", field.recorded}, {"decided", field.decided}});
  }
  return {{"line", difference.line},
          {"decision", difference.number},
          {"time", format_time(difference.at)},
          {"fields", std::move(fields)}};
}

std::string value_text(const json& value) {
  return value.is_null() ? "nothing" : json_line(value);
}

std::string csv_line(const TimelineRow& row) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", format_time(row.at), row.ready, row.stable,
                     row.panic, row.recorded.want, row.recorded.mode, row.recorded.bound_by,
                     row.decided.want, row.decided.mode, row.decided.bound_by);
}

std::string settings_text(const ScalingEdits& edits) {
  if (!edits.has_spec()) return edits.text();
  return edits.text().empty() ? "the other spec" : "the other spec and " + edits.text();
}

std::string limits_text(const ReplayRun& run) {
  return fmt::format(
      "{} of {} s were saturated{}\n", run.saturated_s(), run.observed_s(),
      run.saturated_s() > 0 ? ": with other settings the observation itself would differ" : "");
}

}  // namespace

ReplayReport::ReplayReport(std::ostream& out, ReplayFormat format, const ScalingEdits& edits)
    : out_{out}, format_{format}, changes_{!edits.empty()}, settings_{settings_text(edits)} {
  if (format_ == ReplayFormat::csv) {
    out_ << "time,ready,stable,panic,recorded_want,recorded_mode,recorded_bound_by,want,mode,"
            "bound_by\n";
  } else if (format_ == ReplayFormat::json) {
    out_ << "{\"rows\":[";
  } else if (changes_) {
    out_ << fmt::format("{:<26}{:>6}  {:<{}}with {}\n", "time", "ready", "recorded", kSideColumns,
                        settings_);
  }
}

void ReplayReport::row(const TimelineRow& row) {
  if (format_ == ReplayFormat::csv) {
    out_ << csv_line(row);
  } else if (format_ == ReplayFormat::json) {
    out_ << (any_ ? ",\n" : "\n") << json_line(row_json(row));
    any_ = true;
  } else if (changes_) {
    const auto same = [](const TimelineSide& a, const TimelineSide& b) {
      return a.want == b.want && a.mode == b.mode;
    };
    // What is as it was has no line of its own.
    if (shown_ && same(shown_->recorded, row.recorded) && same(shown_->decided, row.decided))
      return;
    out_ << fmt::format("{:<26}{:>6}  {:<{}}{}\n", format_time(row.at), row.ready,
                        shown(row.recorded), kSideColumns, shown(row.decided));
    shown_ = row;
  }
}

void ReplayReport::finish(const ReplayRun& run, const std::vector<std::string>& notes) {
  if (format_ == ReplayFormat::json) {
    finish_json(run, notes);
  } else if (format_ == ReplayFormat::text && changes_) {
    finish_changed(run);
  } else if (format_ == ReplayFormat::text) {
    finish_equal(run);
  }
}

void ReplayReport::finish_equal(const ReplayRun& run) {
  const auto& first = run.first_difference();
  if (!first) {
    out_ << decisions_text(run.decisions()) << ", all equal\n";
    return;
  }
  out_ << fmt::format("decision {} differs, line {}, at {}; recorded by sluice {}, this is {}\n",
                      grouped(first->number), first->line, format_time(first->at),
                      clean_text(run.head().version), kVersion);
  for (const FieldDifference& field : first->fields) {
    out_ << fmt::format("  {}\n    recorded {}\n    here     {}\n", field.key,
                        value_text(field.recorded), value_text(field.decided));
  }
  out_ << fmt::format("{}, {} differ\n", decisions_text(run.decisions()), grouped(run.differing()));
}

void ReplayReport::finish_changed(const ReplayRun& run) {
  const auto line = [this](const char* what, const TimelineTotals& totals) {
    out_ << fmt::format("{:<10}{:>12.1f} replica-seconds, {} {} at most\n", what,
                        totals.replica_seconds, totals.most,
                        totals.most == 1 ? "replica" : "replicas");
  };
  out_ << "\n";
  line("recorded", run.recorded());
  line("with", run.decided());
  out_ << limits_text(run);
}

void ReplayReport::finish_json(const ReplayRun& run, const std::vector<std::string>& notes) {
  json end = {{"service", run.head().of.service},
              {"revision", run.head().of.id.name},
              {"recorded_by", run.head().version},
              {"decisions", run.decisions()},
              {"recorded", totals_json(run.recorded())},
              {"decided", totals_json(run.decided())},
              {"observed_s", run.observed_s()},
              {"saturated_s", run.saturated_s()},
              {"notes", notes}};
  if (changes_) {
    end["settings"] = settings_;
  } else {
    end["equal"] = run.decisions() - run.differing();
    const auto& first = run.first_difference();
    end["first_difference"] = first ? difference_json(*first) : json{};
  }
  // The rows are printed already: the rest of the object follows them.
  out_ << "\n]," << json_line(end).substr(1) << "\n";
}

}  // namespace sluice::commands
