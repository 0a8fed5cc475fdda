#include "load/io/trace_file.h"

#include <string_view>
#include <utility>

namespace sluice::loadgen {

namespace {

Problem unreadable(const std::string& path) {
  return {"cannot read '" + path + "'", "check the path of the trace"};
}

std::optional<Problem> placed(std::optional<Problem> problem, const std::string& path) {
  if (problem) problem->what = "'" + path + "', " + problem->what;
  return problem;
}

// Why there are no further bytes, unless the file has ended.
std::optional<Problem> cut_short(const UnpackedFile& file, const std::string& path) {
  switch (file.ending()) {
    case UnpackedFile::Ending::none:
    case UnpackedFile::Ending::whole:
      return std::nullopt;
    case UnpackedFile::Ending::cut:
      return Problem{"'" + path + "' ends in the middle of what gzip wrote", "give the whole file"};
    case UnpackedFile::Ending::damaged:
      return Problem{"'" + path + "' is damaged: it is no longer what gzip wrote",
                     "give a whole copy of it"};
    case UnpackedFile::Ending::unreadable:
      return unreadable(path);
  }
  return std::nullopt;
}

std::optional<Problem> read_durations(UnpackedFile& file, const std::string& path,
                                      AzureDurations& durations) {
  while (true) {
    const std::string_view bytes = file.next();
    if (auto problem = placed(durations.feed(bytes), path)) return problem;
    if (auto problem = cut_short(file, path)) return problem;
    if (bytes.empty()) return placed(durations.finish(), path);
  }
}

}  // namespace

Result<TraceFile, Problem> TraceFile::open(const TraceName& name, TraceOptions options) {
  auto file = UnpackedFile::open(name.file);
  if (!file) return unreadable(name.file);
  std::unique_ptr<AzureDurations> durations;
  const std::string beside = durations_file_of(name.file);
  if (auto more = beside.empty() ? std::nullopt : UnpackedFile::open(beside)) {
    durations = std::make_unique<AzureDurations>();
    if (auto problem = read_durations(*more, beside, *durations)) return *std::move(problem);
  }
  options.format = name.format;
  options.durations = durations.get();
  return TraceFile{name.file, *std::move(file), std::move(durations), std::move(options)};
}

TraceFile::TraceFile(std::string path, UnpackedFile file, std::unique_ptr<AzureDurations> durations,
                     TraceOptions options)
    : path_{std::move(path)},
      file_{std::move(file)},
      durations_{std::move(durations)},
      parser_{std::move(options)} {}

std::optional<Problem> TraceFile::read(const CellSink& sink) {
  const std::string_view bytes = file_.next();
  if (auto problem = placed(parser_.feed(bytes, sink), path_)) return problem;
  if (auto problem = cut_short(file_, path_)) return problem;
  if (!bytes.empty()) return std::nullopt;
  ended_ = true;
  return placed(parser_.finish(sink), path_);
}

Result<TraceSurvey, Problem> survey_trace(const TraceName& name, const TraceOptions& options) {
  auto file = TraceFile::open(name, options);
  if (!file) return file.error();
  TraceSurvey survey;
  while (!file->ended()) {
    auto problem = file->read([&survey](const TraceCell& cell) { survey.summary.add(cell); });
    if (problem) return *std::move(problem);
  }
  survey.facts = file->facts();
  return survey;
}

}  // namespace sluice::loadgen
