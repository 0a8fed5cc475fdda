#include "programs/sluice/commands/recording_file.h"

#include "autoscaler/io/recording_json.h"
#include "common/base/errno_text.h"
#include "common/files/file_io.h"
#include "common/json/parse.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <sys/stat.h>
#include <utility>
#include <zlib.h>

namespace sluice::commands {
namespace {

constexpr const char* kStandardInput = "-";

Problem unreadable(const std::filesystem::path& path, const std::string& why) {
  return {path.string() + " cannot be read: " + why,
          "give a file that sluice record has written, or - for standard input"};
}

// What the text comes to as a file of gzip; nothing without memory for it.
std::optional<std::string> compressed(std::string_view text) {
  constexpr int kGzip = 16;  // added to the window bits: a gzip header and trailer
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input{text};
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return whole ? std::optional{std::move(packed)} : std::nullopt;
}

}  // namespace

Result<RecordingLines, Problem> RecordingLines::open(const std::filesystem::path& path) {
  struct stat facts {};

  if (path != kStandardInput && ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) {
    return unreadable(path, "it is a directory");
  }
  errno = 0;
  auto file = loadgen::UnpackedFile::open(path);
  if (!file) return unreadable(path, errno_text(errno));
  return RecordingLines{*std::move(file)};
}

RecordingLines::Next RecordingLines::next(std::string& line) {
  using Ending = loadgen::UnpackedFile::Ending;
  line.clear();
  while (true) {
    if (left_.empty()) left_ = file_.next();
    if (left_.empty()) {
      const bool damaged =
          file_.ending() == Ending::damaged || file_.ending() == Ending::unreadable;
      if (damaged) return Next::damaged;
      if (line.empty() && file_.ending() != Ending::cut) return Next::end;
      ++number_;
      return Next::cut;
    }
    const std::size_t end = left_.find('\n');
    line.append(left_.substr(0, end));
    left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
    const bool too_long = line.size() > autoscaler::kRecordingLineMax;
    if (end == std::string_view::npos && !too_long) continue;
    ++number_;
    return too_long ? Next::too_long : Next::line;
  }
}

std::optional<Failure> read_recording(const std::string& path, RecordingLines& lines,
                                      const LineTaker& take, std::vector<std::string>& notes) {
  const auto wrong_line = [&](const std::string& what) {
    return Failure{kExitConfig, path + ", line " + std::to_string(lines.number()) + ": " + what};
  };
  using Next = RecordingLines::Next;
  bool begun = false;
  std::string line;
  while (true) {
    const auto next = lines.next(line);
    if (next == Next::end) break;
    if (next == Next::damaged) {
      return Failure{kExitConfig, path + " is damaged after line " +
                                      std::to_string(lines.number()) +
                                      ": it is no longer what gzip wrote"};
    }
    if (next == Next::too_long) return wrong_line("a recording has no line that is so long");
    const auto wrong = take(line);
    if (wrong && next == Next::cut && begun) {
      notes.push_back("the recording ends in the middle of line " + std::to_string(lines.number()) +
                      "; what is before it was replayed");
      break;
    }
    if (wrong) return wrong_line(*wrong);
    begun = true;
    if (next == Next::cut) break;
  }
  if (!begun) return Failure{kExitConfig, path + " is empty"};
  return std::nullopt;
}

std::optional<std::string> parse_recorded(const std::string& line, bool begun,
                                          nlohmann::json& document) {
  if (!reading::parse(line, {.bytes_max = autoscaler::kRecordingLineMax}, document)) return {};
  return begun ? "it is not JSON"
               : "this is not a recording of sluice record, or its first line was cut; a trace of "
                 "another kind is for --traffic FILE";
}

std::optional<Problem> write_recording(const std::filesystem::path& path, std::string_view text) {
  if (path.extension() != ".gz") return files::write_output(path, text);
  const auto packed = compressed(text);
  if (!packed) return Problem{path.string() + " cannot be compressed", "give a name without .gz"};
  return files::write_output(path, *packed);
}

}  // namespace sluice::commands
