#include "common/settings/program_variables.h"

#include <string_view>

namespace sluice::settings {
namespace {

std::optional<log::Severity> severity_named(std::string_view level) {
  if (level == "debug") return log::Severity::debug;
  if (level.empty() || level == "info") return log::Severity::info;
  if (level == "warn" || level == "warning") return log::Severity::warning;
  if (level == "error") return log::Severity::error;
  return std::nullopt;
}

}  // namespace

log::Severity read_log_level(Reader& reader) {
  return reader.word_or("SLUICE_LOG_LEVEL", log::Severity::info, severity_named,
                        "debug, info, warning or error");
}

int read_ready_fd(Reader& reader) {
  return static_cast<int>(reader.integer_or("SLUICE_READY_FD", -1, {-1, 1'000'000}));
}

void check_threads(Reader& reader) {
  const auto value = reader.find("SLUICE_THREADS");
  if (value && *value != "1") {
    reader.refuse("SLUICE_THREADS", *value, "1: the program uses one thread");
  }
}

std::string read_platform_directory(Reader& reader) {
  constexpr std::string_view kDirectory = "dir:";
  const char* const name = "SLUICE_PLATFORM";
  const std::string value = reader.find(name).value_or("kubernetes");
  if (value == "kubernetes") return {};
  if (value.starts_with(kDirectory) && value.size() > kDirectory.size()) {
    return value.substr(kDirectory.size());
  }
  reader.refuse(name, value, "kubernetes or dir:PATH");
  return {};
}

}  // namespace sluice::settings
