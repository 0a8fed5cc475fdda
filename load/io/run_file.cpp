#include "load/io/run_file.h"

#include "load/core/run_reader.h"
#include "load/io/unpacked_file.h"
#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::uint64_t kReportBytesMax = 1U << 30U;

// Why the file ended as it did; nothing if that was its end.
std::optional<Problem> wrong_end(const UnpackedFile& file) {
  switch (file.ending()) {
    case UnpackedFile::Ending::none:
    case UnpackedFile::Ending::whole:
      return std::nullopt;
    case UnpackedFile::Ending::cut:
      return Problem{"what gzip packed ends in the middle", "give the whole file"};
    case UnpackedFile::Ending::damaged:
      return Problem{"it is damaged: gzip did not write what follows", "give the whole file"};
    case UnpackedFile::Ending::unreadable:
      return Problem{std::string{"it cannot be read: "} + std::strerror(file.error()),
                     "give a file that --json wrote"};
  }
  return std::nullopt;
}

}  // namespace

Result<ComparedRun, Problem> read_run_file(const std::string& path) {
  const auto in_file = [&](const Problem& problem) {
    return Problem{"'" + path + "': " + problem.what, problem.fix};
  };
  auto file = UnpackedFile::open(path);
  if (!file) {
    return in_file({std::string{"it cannot be opened: "} + std::strerror(errno),
                    "give a file that --json wrote"});
  }
  RunReader reader;
  std::uint64_t bytes = 0;
  for (std::string_view piece = file->next(); !piece.empty(); piece = file->next()) {
    bytes += piece.size();
    if (bytes > kReportBytesMax) {
      return in_file({"it is larger than 1 GiB", "give a report of sluice load"});
    }
    if (const auto problem = reader.feed(piece)) return in_file(*problem);
  }
  if (const auto problem = wrong_end(*file)) return in_file(*problem);
  auto run = reader.finish();
  if (!run) return in_file(run.error());
  run->file = path;
  return *std::move(run);
}

}  // namespace sluice::loadgen
