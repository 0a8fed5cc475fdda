#include "load/io/trace_file.h"

#include <string_view>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kPieceBytes = 256U << 10U;

Problem unreadable(const std::string& path) {
  return {"cannot read '" + path + "'", "check the path of the trace"};
}

// The next bytes, none at the end; absent where the file cannot be read.
std::optional<std::string_view> next_piece(std::ifstream& file, std::vector<char>& piece) {
  file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
  if (file.fail() && !file.eof()) return std::nullopt;
  return std::string_view{piece.data(), static_cast<std::size_t>(file.gcount())};
}

std::optional<Problem> placed(std::optional<Problem> problem, const std::string& path) {
  if (problem) problem->what = "'" + path + "', " + problem->what;
  return problem;
}

std::optional<Problem> read_durations(std::ifstream& file, const std::string& path,
                                      AzureDurations& durations) {
  std::vector<char> piece(kPieceBytes);
  while (!file.eof()) {
    const auto bytes = next_piece(file, piece);
    if (!bytes) return unreadable(path);
    if (auto problem = durations.feed(*bytes)) return placed(std::move(problem), path);
  }
  return placed(durations.finish(), path);
}

}  // namespace

Result<TraceFile, Problem> TraceFile::open(const TraceName& name, const std::string& trigger) {
  std::ifstream file{name.file, std::ios::binary};
  if (!file) return unreadable(name.file);
  std::unique_ptr<AzureDurations> durations;
  const std::string beside = durations_file_of(name.file);
  if (std::ifstream more{beside, std::ios::binary}; more) {
    durations = std::make_unique<AzureDurations>();
    if (auto problem = read_durations(more, beside, *durations)) return *std::move(problem);
  }
  const TraceOptions options{name.format, trigger, durations.get()};
  return TraceFile{name.file, std::move(file), std::move(durations), options};
}

TraceFile::TraceFile(std::string path, std::ifstream file,
                     std::unique_ptr<AzureDurations> durations, TraceOptions options)
    : path_{std::move(path)},
      file_{std::move(file)},
      durations_{std::move(durations)},
      parser_{std::move(options)},
      piece_(kPieceBytes) {}

std::optional<Problem> TraceFile::read(const CellSink& sink) {
  const auto bytes = next_piece(file_, piece_);
  if (!bytes) return unreadable(path_);
  if (auto problem = parser_.feed(*bytes, sink)) return placed(std::move(problem), path_);
  if (!file_.eof()) return std::nullopt;
  ended_ = true;
  return placed(parser_.finish(sink), path_);
}

Result<TraceSurvey, Problem> survey_trace(const TraceName& name) {
  auto file = TraceFile::open(name, kReadTrigger);
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
