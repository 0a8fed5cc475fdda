#include "load/io/trace_file.h"

#include "common/base/errno_text.h"

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace sluice::loadgen {

namespace {

Problem unreadable(const std::string& path, int error) {
  return {"cannot read '" + path + "': " + errno_text(error), "check the path of the trace"};
}

// A file that is not there may be one that is, with a format that is none.
Problem unopened(const std::string& path, int error) {
  const std::size_t colon = path.rfind(':');
  std::error_code failed;
  if (error != ENOENT || colon == std::string::npos ||
      !std::filesystem::is_regular_file(path.substr(0, colon), failed)) {
    return unreadable(path, error);
  }
  return {"no format has the name '" + path.substr(colon + 1) + "', and no file is '" + path + "'",
          "formats are " + format_names()};
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
      return unreadable(path, file.error());
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
  if (!file) return unopened(name.file, errno);
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

Result<TraceSurvey, Problem> survey_trace(const TraceName& name, const TraceOptions& options,
                                          const ReplayPart& part) {
  auto file = TraceFile::open(name, options);
  if (!file) return file.error();
  TraceSurvey survey{{}, TraceSummary{part}};
  while (!file->ended()) {
    auto problem = file->read([&survey](const TraceCell& cell) { survey.summary.add(cell); });
    if (problem) return *std::move(problem);
  }
  survey.facts = file->facts();
  return survey;
}

}  // namespace sluice::loadgen
