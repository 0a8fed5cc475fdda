#include "load/io/replay_cells.h"

#include "load/core/trace_summary.h"
#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice::loadgen {

Result<ReplayCells, Problem> ReplayCells::open(Replay& replay) {
  const std::string& path = replay.trace.file;
  std::error_code ignored;
  if (std::filesystem::is_other(path, ignored)) {
    return Problem{"--replay reads its trace twice, which '" + path + "' does not permit",
                   "write the trace into a file"};
  }
  const auto survey = survey_trace(replay.trace, {}, replay.part);
  if (!survey) return survey.error();
  if (auto problem = complete(replay, survey->facts, survey->summary)) return *std::move(problem);
  ReplayCells cells;
  if (replay.format == TraceFormat::azure2019) {
    cells.periods_ = survey->summary.periods();
    return cells;
  }
  auto file = TraceFile::open(replay.trace, {});
  if (!file) return file.error();
  cells.file_.emplace(*std::move(file));
  return cells;
}

bool ReplayCells::read(const CellSink& sink) {
  if (file_) {
    problem_ = file_->read(sink);
    return !problem_ && !file_->ended();
  }
  if (passed_ < periods_.size()) sink(periods_[passed_++]);
  return passed_ < periods_.size();
}

}  // namespace sluice::loadgen
