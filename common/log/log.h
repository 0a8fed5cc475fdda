#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::log {

enum class Severity { debug, info, warning, error };

/// Writes events to standard error. Lines below the least severity are dropped.
class Logger {
 public:
  using Field = std::pair<std::string_view, std::string>;

  /// `name`: the program, as the field `logger`. Text with time and severity on a terminal, one
  /// JSON object per line otherwise, or as `json` says.
  explicit Logger(std::string name, Severity least = Severity::info);

  void set_json(bool json) { json_ = json; }

  void set_least(Severity least) { least_ = least; }

  /// One event to standard error. Fields follow the message; values are escaped.
  void write(Severity severity, std::string_view message,
             std::initializer_list<Field> fields = {}) const;

 private:
  std::string name_;
  Severity least_;
  bool json_;
};

}  // namespace sluice::log
