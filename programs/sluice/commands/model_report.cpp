#include "programs/sluice/commands/model_report.h"

#include "common/base/clean_text.h"
#include "common/json/write.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "load/core/trace_csv.h"
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr double kMedian = 50;
constexpr double kSlowest = 99;

double wait_ms(const loadgen::Histogram& waits, double percent) {
  return to_seconds(waits.percentile(percent)) * 1e3;
}

json row_json(const ModelRow& row) {
  return {{"at_s", to_seconds(row.at)}, {"ready", row.ready},      {"waiting", row.waiting},
          {"stable", row.stable},       {"panic", row.panic},      {"want", row.want},
          {"mode", row.mode},           {"bound_by", row.bound_by}};
}

json row_json(const FunctionRow& row) {
  return {{"function", row.function},
          {"requests", row.requests},
          {"refused", row.refused},
          {"replica_seconds", row.replica_seconds},
          {"most_replicas", row.most_replicas},
          {"cold_starts", row.cold_starts},
          {"panics", row.panics},
          {"wait_ms", {{"p50", row.wait_p50_ms}, {"p99", row.wait_p99_ms}}}};
}

json figures_json(const simulation::Outcome& outcome) {
  return {{"simulated_s", to_seconds(outcome.length)},
          {"requests", outcome.sent},
          {"answered", outcome.answered},
          {"refused", outcome.refused},
          {"left", outcome.left},
          {"replica_seconds", outcome.pod_seconds},
          {"most_replicas", outcome.pods_max},
          {"cold_starts", outcome.cold_starts},
          {"panics", outcome.panics},
          {"wait_ms",
           {{"mean", to_seconds(outcome.waits.mean()) * 1e3},
            {"p50", wait_ms(outcome.waits, kMedian)},
            {"p99", wait_ms(outcome.waits, kSlowest)},
            {"max", to_seconds(outcome.waits.max()) * 1e3}}}};
}

json recorded_json(const RecordedFigures& recorded) {
  json object{{"replica_seconds", recorded.replica_seconds},
              {"most_replicas", recorded.most_replicas},
              {"cold_starts", recorded.cold_starts},
              {"panics", recorded.panics},
              {"wait_ms", nullptr}};
  if (recorded.waits_known) {
    object["wait_ms"] = {{"p50", wait_ms(recorded.waits, kMedian)},
                         {"p99", wait_ms(recorded.waits, kSlowest)}};
  }
  return object;
}

std::string recorded_text(const RecordedFigures& recorded) {
  std::string text = fmt::format(
      "{:.1f} replica-seconds, {} replicas at most, cold starts {}, panics {}",
      recorded.replica_seconds, recorded.most_replicas, recorded.cold_starts, recorded.panics);
  if (recorded.waits_known) {
    text += fmt::format(", wait p50 {:.1f} ms, p99 {:.1f} ms", wait_ms(recorded.waits, kMedian),
                        wait_ms(recorded.waits, kSlowest));
  }
  return text;
}

// Of a table: the name comes from the trace.
std::string shown_name(std::string_view name) {
  constexpr std::size_t kShownMost = 60;
  return clean_text(name.substr(0, kShownMost)) + (name.size() > kShownMost ? "…" : "");
}

}  // namespace

FunctionRow function_row(std::string function, const simulation::Outcome& outcome) {
  return {.function = std::move(function),
          .requests = outcome.sent,
          .refused = outcome.refused,
          .replica_seconds = outcome.pod_seconds,
          .most_replicas = outcome.pods_max,
          .cold_starts = outcome.cold_starts,
          .panics = outcome.panics,
          .wait_p50_ms = wait_ms(outcome.waits, kMedian),
          .wait_p99_ms = wait_ms(outcome.waits, kSlowest)};
}

ModelReport::ModelReport(std::ostream& out, ReplayFormat format, std::string settings, Rows rows)
    : out_{out}, format_{format}, settings_{std::move(settings)}, rows_{rows} {
  const bool decisions = rows_ == Rows::decisions;
  if (format_ == ReplayFormat::csv) {
    out_ << (decisions ? "at_s,ready,waiting,stable,panic,want,mode,bound_by\n"
                       : "function,requests,refused,replica_seconds,most_replicas,cold_starts,"
                         "panics,wait_p50_ms,wait_p99_ms\n");
  } else if (format_ == ReplayFormat::json) {
    out_ << (decisions ? "{\"rows\":[" : "{\"functions\":[");
  } else if (decisions) {
    out_ << fmt::format("{:>10}{:>7}{:>9}  {}\n", "at", "ready", "waiting", "want");
  }
}

void ModelReport::row(const ModelRow& row) {
  if (format_ == ReplayFormat::csv) {
    out_ << fmt::format("{},{},{},{},{},{},{},{}\n", to_seconds(row.at), row.ready, row.waiting,
                        row.stable, row.panic, row.want, row.mode, row.bound_by);
    return;
  }
  if (format_ == ReplayFormat::json) {
    begin_json_row();
    out_ << json_line(row_json(row));
    return;
  }
  // What is as it was has no line of its own.
  if (shown_ && shown_->ready == row.ready && shown_->want == row.want && shown_->mode == row.mode)
    return;
  out_ << fmt::format("{:>8.1f} s{:>7}{:>9}  {}{}\n", to_seconds(row.at), row.ready, row.waiting,
                      row.want, row.mode == "panic" ? " panic" : "");
  shown_ = row;
}

void ModelReport::row(const FunctionRow& row) {
  if (format_ == ReplayFormat::csv) {
    std::string name;
    loadgen::append_csv_field(name, clean_text(row.function));
    out_ << fmt::format("{},{},{},{},{},{},{},{},{}\n", name, row.requests, row.refused,
                        row.replica_seconds, row.most_replicas, row.cold_starts, row.panics,
                        row.wait_p50_ms, row.wait_p99_ms);
  } else if (format_ == ReplayFormat::json) {
    begin_json_row();
    out_ << json_line(row_json(row));
  } else {
    functions_.push_back(row);
  }
}

void ModelReport::show_functions() {
  constexpr std::size_t kShownMax = 20;
  const std::size_t shown = std::min(kShownMax, functions_.size());
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const FunctionRow& a, const FunctionRow& b) {
                     return a.replica_seconds > b.replica_seconds;
                   });
  out_ << fmt::format("{:>15}{:>6}{:>10}{:>13}{:>8}{:>10}{:>9}  function\n", "replica-seconds",
                      "most", "requests", "cold starts", "panics", "p99 ms", "refused");
  for (std::size_t i = 0; i < shown; ++i) {
    const FunctionRow& row = functions_[i];
    out_ << fmt::format("{:>15.1f}{:>6}{:>10}{:>13}{:>8}{:>10.1f}{:>9}  {}\n", row.replica_seconds,
                        row.most_replicas, row.requests, row.cold_starts, row.panics,
                        row.wait_p99_ms, row.refused, shown_name(row.function));
  }
  if (functions_.size() > shown) {
    out_ << fmt::format("… and {} with fewer replica-seconds\n", functions_.size() - shown);
  }
}

void ModelReport::finish(const simulation::Outcome& outcome, const RecordedFigures* recorded,
                         const std::vector<std::string>& notes) {
  if (format_ == ReplayFormat::json) {
    // The rows are printed already: the rest of the object follows them.
    json end{{"settings", settings_}, {"figures", figures_json(outcome)}, {"notes", notes}};
    if (recorded != nullptr) end["recorded"] = recorded_json(*recorded);
    out_ << "\n]," << json_line(end).substr(1) << "\n";
  }
  if (format_ != ReplayFormat::text) return;
  if (rows_ == Rows::functions) show_functions();
  const auto line = [this](const char* what, const std::string& figures) {
    out_ << fmt::format("{:<13}{}\n", what, figures);
  };
  out_ << "\n";
  line("requests", fmt::format("{} answered, {} refused in {:.1f} s", outcome.answered,
                               outcome.refused, to_seconds(outcome.length)));
  line("wait", fmt::format("p50 {:.1f} ms, p99 {:.1f} ms", wait_ms(outcome.waits, kMedian),
                           wait_ms(outcome.waits, kSlowest)));
  line("replicas", fmt::format("{:.1f} replica-seconds, {} replicas at most", outcome.pod_seconds,
                               outcome.pods_max));
  line("cold starts", std::to_string(outcome.cold_starts));
  line("panics", std::to_string(outcome.panics));
  if (recorded != nullptr) line("recorded", recorded_text(*recorded));
}

}  // namespace sluice::commands
