#pragma once

#include "programs/sluice/commands/replay_run.h"
#include <iosfwd>
#include <string>
#include <vector>

namespace sluice::commands {

enum class ReplayFormat { text, json, csv };

/// Prints a replay: its timeline while it runs, what it comes to at its end. Equal input, equal
/// bytes: times are in UTC, and nothing is of this machine.
class ReplayReport {
 public:
  /// `edits`: those of the run. `out` outlives this.
  ReplayReport(std::ostream& out, ReplayFormat format, const ScalingEdits& edits);

  void row(const TimelineRow& row);

  /// The end; `notes` are sentences on what was not replayed.
  void finish(const ReplayRun& run, const std::vector<std::string>& notes);

 private:
  void finish_equal(const ReplayRun& run);
  void finish_changed(const ReplayRun& run);
  void finish_json(const ReplayRun& run, const std::vector<std::string>& notes);

  std::ostream& out_;
  ReplayFormat format_;
  bool changes_;  // other settings than those that were recorded
  std::string settings_;
  std::optional<TimelineRow> shown_;  // the last row that was printed
  bool any_ = false;
};

}  // namespace sluice::commands
