#include "autoscaler/config.h"

#include <string_view>

namespace sluice::autoscaler {
namespace {

using settings::EnvReader;
using Need = EnvReader::Need;

constexpr std::string_view kDirectory = "dir:";
constexpr std::size_t kNameMax = 253;

void read_platform(EnvReader& reader, Config& config) {
  const char* const name = "SLUICE_PLATFORM";
  config.platform = reader.find(name).value_or("kubernetes");
  if (config.platform == "kubernetes") {
    reader.complain({"SLUICE_PLATFORM=kubernetes, the default, is not built yet",
                     "set SLUICE_PLATFORM=dir:PATH and describe revisions and pods by files in "
                     "PATH/revisions"});
    return;
  }
  if (!config.platform.starts_with(kDirectory) || config.platform.size() == kDirectory.size()) {
    reader.refuse(name, config.platform, "dir:PATH");
    return;
  }
  config.platform_path = config.platform.substr(kDirectory.size());
}

log::Severity read_log_level(EnvReader& reader) {
  const char* const name = "SLUICE_LOG_LEVEL";
  const std::string level = reader.text(name, Need::optional);
  if (level == "debug") return log::Severity::debug;
  if (level.empty() || level == "info") return log::Severity::info;
  if (level == "warn" || level == "warning") return log::Severity::warning;
  if (level == "error") return log::Severity::error;
  reader.refuse(name, level, "debug, info, warn or error");
  return log::Severity::info;
}

}  // namespace

Result<Config, Problem> read_config(const settings::Environment& environment) {
  EnvReader reader{environment};
  Config config;
  read_platform(reader, config);
  config.name = reader.text("POD_NAME", Need::optional);
  if (config.name.size() > kNameMax) {
    reader.refuse("POD_NAME", config.name, "a name of at most 253 bytes");
  }
  if (config.name.empty()) config.name = "autoscaler";
  config.stats = reader.address_or("SLUICE_STATS_ADDRESS", ":8080");
  config.grpc = reader.address_or("SLUICE_GRPC_ADDRESS", ":8081");
  config.api = reader.address_or("SLUICE_API_ADDRESS", ":8082");
  config.metrics = reader.address_or("SLUICE_METRICS_ADDRESS", ":9090");
  config.tls_dir = reader.text("SLUICE_TLS_DIR", Need::optional);
  config.log_least = read_log_level(reader);
  config.ready_fd = static_cast<int>(reader.integer_or("SLUICE_READY_FD", -1, {-1, 1'000'000}));
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::autoscaler
