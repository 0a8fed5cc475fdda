#pragma once

#include "common/base/result.h"

#include "load/core/recorded_request.h"
#include "load/core/trace.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// How a line of an access log is written: text with variables, `$name` or `${name}`, as nginx's
/// log_format has it. A value ends where the text behind its variable begins; in quotes a quote
/// behind a backslash is part of it.
///
/// Read are one of `$time_local $time_iso8601 $msec`; `$request`, or of its parts
/// `$request_method $request_uri $path`; `$host $http_host $service`; `$status`; of the request's
/// body `$content_length`; and one of `$request_time`, seconds, `$duration_ms` and `$duration_us`.
/// With `$request_time` the time is that of the end, as nginx has it, else that of the begin.
/// Variables of other names stand for what is passed over.
class LogFormat {
 public:
  static constexpr std::size_t kBytesMax = 4096;
  static constexpr std::size_t kVariablesMax = 100;

  /// The problem is that it has no time, two of one kind, or variables with nothing between.
  [[nodiscard]] static Result<LogFormat, Problem> parse(std::string_view text);

  /// The format that nginx and Apache call combined, and the one they call common.
  [[nodiscard]] static LogFormat combined();
  [[nodiscard]] static LogFormat common();

  /// Reads a line into `request`, which is clear. What follows the last text of the format in it is
  /// passed over.
  [[nodiscard]] std::optional<Skip> read(std::string_view line, RecordedRequest& request) const;

 private:
  enum class Variable : std::uint8_t {
    none,
    time_local,
    date,
    request,
    method,
    target,
    host,
    service,
    status,
    body_bytes,
    request_time,
    duration_ms,
    duration_us,
  };

  struct Name {
    std::string_view text;
    Variable variable;
  };

  struct Piece {
    Variable variable = Variable::none;
    std::string behind;  // the text up to the next variable
  };

  static Variable variable_of(std::string_view name);
  std::optional<Problem> add_variable(std::string_view& text);
  [[nodiscard]] bool has(Variable variable) const;
  [[nodiscard]] std::optional<Problem> check() const;
  static std::optional<Skip> take(Variable variable, std::string_view value,
                                  RecordedRequest& request);

  std::string before_;  // the first variable
  std::vector<Piece> pieces_;
};

}  // namespace sluice::loadgen
