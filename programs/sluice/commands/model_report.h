#pragma once

#include "programs/sluice/commands/model_run.h"
#include "programs/sluice/commands/replay_report.h"
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace sluice::commands {

/// One function of a trace, which was simulated as a service of its own.
struct FunctionRow {
  std::string function;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;
  double replica_seconds = 0;
  std::int32_t most_replicas = 0;
  std::uint64_t cold_starts = 0;
  std::uint64_t panics = 0;
  double wait_p50_ms = 0;
  double wait_p99_ms = 0;
};

[[nodiscard]] FunctionRow function_row(std::string function, const simulation::Outcome& outcome);

/// Prints a simulated run: its timeline while it runs, its figures at the end. Equal input, equal
/// bytes: nothing is of this machine.
class ModelReport {
 public:
  /// What its rows are.
  enum class Rows : std::uint8_t { decisions, functions };

  /// `settings`: the keys that were set, as text. `out` outlives this.
  ModelReport(std::ostream& out, ReplayFormat format, std::string settings, Rows rows);

  void row(const ModelRow& row);

  /// As text only those with most replica-seconds are shown, at the end.
  void row(const FunctionRow& row);

  /// The end. `recorded`: of the same run as it was; null: it was none. `notes` are sentences on
  /// what was not played.
  void finish(const simulation::Outcome& outcome, const RecordedFigures* recorded,
              const std::vector<std::string>& notes);

 private:
  void begin_json_row() { out_ << (std::exchange(any_, true) ? ",\n" : "\n"); }

  void show_functions();

  std::ostream& out_;
  ReplayFormat format_;
  std::string settings_;
  Rows rows_;
  std::optional<ModelRow> shown_;       // the last row that was printed
  std::vector<FunctionRow> functions_;  // as text: all
  bool any_ = false;
};

}  // namespace sluice::commands
