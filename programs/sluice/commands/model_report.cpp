#include "programs/sluice/commands/model_report.h"

#include "common/json/write.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>
#include <utility>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr double kMedian = 50;
constexpr double kSlowest = 99;

double wait_ms(const simulation::Outcome& outcome, double percent) {
  return to_seconds(outcome.waits.percentile(percent)) * 1e3;
}

json row_json(const ModelRow& row) {
  return {{"at_s", to_seconds(row.at)}, {"ready", row.ready},      {"waiting", row.waiting},
          {"stable", row.stable},       {"panic", row.panic},      {"want", row.want},
          {"mode", row.mode},           {"bound_by", row.bound_by}};
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
            {"p50", wait_ms(outcome, kMedian)},
            {"p99", wait_ms(outcome, kSlowest)},
            {"max", to_seconds(outcome.waits.max()) * 1e3}}}};
}

}  // namespace

ModelReport::ModelReport(std::ostream& out, ReplayFormat format, std::string settings)
    : out_{out}, format_{format}, settings_{std::move(settings)} {
  if (format_ == ReplayFormat::csv) {
    out_ << "at_s,ready,waiting,stable,panic,want,mode,bound_by\n";
  } else if (format_ == ReplayFormat::json) {
    out_ << "{\"rows\":[";
  } else {
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
    out_ << (std::exchange(any_, true) ? ",\n" : "\n") << json_line(row_json(row));
    return;
  }
  // What is as it was has no line of its own.
  if (shown_ && shown_->ready == row.ready && shown_->want == row.want && shown_->mode == row.mode)
    return;
  out_ << fmt::format("{:>8.1f} s{:>7}{:>9}  {}{}\n", to_seconds(row.at), row.ready, row.waiting,
                      row.want, row.mode == "panic" ? " panic" : "");
  shown_ = row;
}

void ModelReport::finish(const simulation::Outcome& outcome,
                         const std::vector<std::string>& notes) {
  if (format_ == ReplayFormat::json) {
    // The rows are printed already: the rest of the object follows them.
    const json end = {
        {"settings", settings_}, {"figures", figures_json(outcome)}, {"notes", notes}};
    out_ << "\n]," << json_line(end).substr(1) << "\n";
  }
  if (format_ != ReplayFormat::text) return;
  const auto line = [this](const char* what, const std::string& figures) {
    out_ << fmt::format("{:<13}{}\n", what, figures);
  };
  out_ << "\n";
  line("requests", fmt::format("{} answered, {} refused in {:.1f} s", outcome.answered,
                               outcome.refused, to_seconds(outcome.length)));
  line("wait", fmt::format("p50 {:.1f} ms, p99 {:.1f} ms", wait_ms(outcome, kMedian),
                           wait_ms(outcome, kSlowest)));
  line("replicas", fmt::format("{:.1f} replica-seconds, {} replicas at most", outcome.pod_seconds,
                               outcome.pods_max));
  line("cold starts", std::to_string(outcome.cold_starts));
  line("panics", std::to_string(outcome.panics));
}

}  // namespace sluice::commands
