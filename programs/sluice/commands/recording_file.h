#pragma once

#include "common/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include "load/io/unpacked_file.h"
#include "programs/sluice/commands/verb.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::commands {

/// The lines of a recording, compressed by gzip or not, one after the other: memory does not depend
/// on the size of the file.
class RecordingLines {
 public:
  /// `-` is standard input.
  [[nodiscard]] static Result<RecordingLines, Problem> open(const std::filesystem::path& path);

  /// What came of a look for another line.
  enum class Next : std::uint8_t {
    line,      ///< there is one
    end,       ///< the last one ended the file
    cut,       ///< the file ends within a line, or within what was compressed
    too_long,  ///< the line is longer than any that is written
    damaged,   ///< what follows was not compressed by gzip, or cannot be read
  };

  /// Puts the next line into `line`, without its end; with `cut` what there is of it.
  [[nodiscard]] Next next(std::string& line);

  /// How many lines there were, with one that was cut.
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  explicit RecordingLines(loadgen::UnpackedFile file) : file_{std::move(file)} {}

  loadgen::UnpackedFile file_;
  std::string_view left_;  // of the bytes of file_
  std::uint64_t number_ = 0;
};

/// Takes a line; the problem is why the recording cannot be read on.
using LineTaker = std::function<std::optional<std::string>(const std::string& line)>;

/// Gives all lines to `take`. A recording that was cut is read up to there, which is added to
/// `notes`. `path` is for the words.
[[nodiscard]] std::optional<Failure> read_recording(const std::string& path, RecordingLines& lines,
                                                    const LineTaker& take,
                                                    std::vector<std::string>& notes);

/// Puts the JSON of a line into `document`. The problem is why it is none; `begun`: a line before
/// it was read.
[[nodiscard]] std::optional<std::string> parse_recorded(const std::string& line, bool begun,
                                                        nlohmann::json& document);

/// Writes `text` to `path` (files::write_output), compressed by gzip when the name ends in .gz.
[[nodiscard]] std::optional<Problem> write_recording(const std::filesystem::path& path,
                                                     std::string_view text);

}  // namespace sluice::commands
