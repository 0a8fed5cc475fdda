#include "common/log/log.h"

#include "common/base/clean_text.h"
#include "common/base/utf8.h"
#include "common/json/write.h"
#include "common/values/rfc3339.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace sluice::log {
namespace {

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::debug:
      return "DEBUG";
    case Severity::info:
      return "INFO";
    case Severity::warning:
      return "WARNING";
    case Severity::error:
      return "ERROR";
  }
  return "INFO";
}

// The time of day is for the reader only; nothing is decided by it.
std::string timestamp() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const TimePoint at{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
  return rfc3339(at, Fraction::microseconds);
}

// A JSON text, in which control characters of ASCII are escapes already, with everything else that
// misleads as an escape, too. It is UTF-8, and such characters stand in strings only.
std::string escaped(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const Rune rune = first_rune(json);
    if (misleads(rune.value)) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", rune.value);
      out += escape;
    } else {
      out.append(json.substr(0, rune.size));
    }
    json.remove_prefix(rune.size);
  }
  return out;
}

}  // namespace

Logger::Logger(std::string name, Severity least)
    : name_{std::move(name)}, least_{least}, json_{::isatty(STDERR_FILENO) == 0} {}

void Logger::write(Severity severity, std::string_view message,
                   std::initializer_list<Field> fields) const {
  if (severity < least_) return;
  std::string line;
  if (json_) {
    nlohmann::ordered_json entry{{"severity", name_of(severity)},
                                 {"timestamp", timestamp()},
                                 {"logger", name_},
                                 {"message", message}};
    for (const auto& [key, value] : fields) entry[std::string{key}] = value;
    line = escaped(json_line(entry));
  } else {
    line = timestamp() + " " + name_of(severity) + " " + clean_text(message);
    for (const auto& [key, value] : fields) {
      line.append(" ").append(key).append("=").append(clean_text(value));
    }
  }
  line += '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sluice::log
