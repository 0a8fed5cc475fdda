#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// What a file in UTF-8 may begin with.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Cuts the bytes of a trace into lines. Ends of lines are LF or CRLF; a byte order mark at the
/// beginning is left out, empty lines are passed over but numbered. Of a line that is longer than
/// kTraceLineMax its beginning is passed, as long as that, without waiting for its end.
class TraceLines {
 public:
  /// Returns what is wrong with the line; then nothing more may be fed.
  using LineSink = std::function<std::optional<Problem>(std::string_view line)>;

  /// Calls `line` with each line that is now whole. The problem is that of a line, with its
  /// number.
  [[nodiscard]] std::optional<Problem> feed(std::string_view piece, const LineSink& line);

  /// The same with what follows the last end of a line.
  [[nodiscard]] std::optional<Problem> finish(const LineSink& line);

  /// The number of the line that was passed last, from 1.
  [[nodiscard]] std::uint64_t number() const { return number_; }

  /// Whether the line that was passed last, or is being passed, lacks its end.
  [[nodiscard]] bool is_cut() const { return cut_; }

 private:
  std::optional<Problem> pass(std::string_view line, const LineSink& sink);

  std::string begun_;  // a line whose end has not come
  std::uint64_t number_ = 0;
  bool cut_ = false;
  bool passing_over_ = false;  // the end of a line that is cut has not come
};

/// What is wrong with a line that is cut.
[[nodiscard]] Problem too_long_line();

/// Cuts a line into its fields (RFC 4180: commas, fields in quotes, quotes doubled within them).
/// Fields do not extend over lines.
class CsvFields {
 public:
  /// False: a quote is not closed, or something follows it. The fields are valid until the next
  /// call and as long as `line`.
  [[nodiscard]] bool split(std::string_view line);

  [[nodiscard]] const std::vector<std::string_view>& all() const { return fields_; }

 private:
  bool take_quoted(std::string_view& rest);

  std::vector<std::string_view> fields_;
  std::string unquoted_;  // of fields with doubled quotes; never grows while they are in use
};

}  // namespace sluice::loadgen
