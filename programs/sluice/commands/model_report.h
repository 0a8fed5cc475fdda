#pragma once

#include "programs/sluice/commands/model_run.h"
#include "programs/sluice/commands/replay_report.h"
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace sluice::commands {

/// Prints a simulated run: its timeline while it runs, its figures at the end. Equal input, equal
/// bytes: nothing is of this machine.
class ModelReport {
 public:
  /// `settings`: the keys that were set, as text. `out` outlives this.
  ModelReport(std::ostream& out, ReplayFormat format, std::string settings);

  void row(const ModelRow& row);

  /// The end; `notes` are sentences on what was not played.
  void finish(const simulation::Outcome& outcome, const std::vector<std::string>& notes);

 private:
  std::ostream& out_;
  ReplayFormat format_;
  std::string settings_;
  std::optional<ModelRow> shown_;  // the last row that was printed
  bool any_ = false;
};

}  // namespace sluice::commands
