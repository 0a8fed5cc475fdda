#include "common/settings/log_level.h"

namespace sluice::settings {

log::Severity read_log_level(EnvReader& reader) {
  const char* const name = "SLUICE_LOG_LEVEL";
  const std::string level = reader.text(name, EnvReader::Need::optional);
  if (level == "debug") return log::Severity::debug;
  if (level.empty() || level == "info") return log::Severity::info;
  if (level == "warn" || level == "warning") return log::Severity::warning;
  if (level == "error") return log::Severity::error;
  reader.refuse(name, level, "debug, info, warning or error");
  return log::Severity::info;
}

}  // namespace sluice::settings
