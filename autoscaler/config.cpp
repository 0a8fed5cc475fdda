#include "autoscaler/config.h"

#include "common/settings/log_level.h"

#include <string_view>

namespace sluice::autoscaler {
namespace {

using settings::EnvReader;
using Need = EnvReader::Need;

constexpr std::string_view kDirectory = "dir:";
constexpr std::size_t kNameMax = 253;
constexpr std::size_t kSpaceMax = 63;
constexpr std::string_view kSpaceLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";

// Who we are in a cluster, as the downward API tells it.
void read_pod(EnvReader& reader, Config& config) {
  const auto needed = [&reader](const char* name, const char* field) {
    std::string value = reader.find(name).value_or("");
    if (value.empty()) {
      reader.complain({std::string{name} + " is not set, and SLUICE_PLATFORM is kubernetes",
                       std::string{"set it from "} + field +
                           " in the pod spec, or SLUICE_PLATFORM=dir:PATH to follow files"});
    }
    return value;
  };
  config.name = needed("POD_NAME", "metadata.name");
  config.pod_address = needed("POD_IP", "status.podIP");
  config.system_space = needed("SYSTEM_NAMESPACE", "metadata.namespace");
  config.cluster_domain = reader.find("CLUSTER_DOMAIN").value_or("cluster.local");
  if (config.system_space.size() > kSpaceMax ||
      config.system_space.find_first_not_of(kSpaceLetters) != std::string::npos) {
    reader.refuse("SYSTEM_NAMESPACE", config.system_space, "the name of a namespace");
  }
}

void read_platform(EnvReader& reader, Config& config) {
  const char* const name = "SLUICE_PLATFORM";
  config.platform = reader.find(name).value_or("kubernetes");
  if (config.platform == "kubernetes") {
    read_pod(reader, config);
    return;
  }
  if (!config.platform.starts_with(kDirectory) || config.platform.size() == kDirectory.size()) {
    reader.refuse(name, config.platform, "kubernetes or dir:PATH");
    return;
  }
  config.platform_path = config.platform.substr(kDirectory.size());
}

// A name, unlike addresses that are bound: Knative's autoscaler is a Service.
void read_stats_relay(EnvReader& reader, Config& config) {
  const char* const name = "SLUICE_STATS_RELAY";
  config.stats_relay = reader.text(name, Need::optional);
  if (config.stats_relay.empty()) return;
  const std::size_t colon = config.stats_relay.rfind(':');
  const std::string port =
      colon == std::string::npos ? std::string{} : config.stats_relay.substr(colon + 1);
  const bool number = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos &&
                      std::stoi(port) > 0 && std::stoi(port) <= 65535;
  if (colon == 0 || !number || config.stats_relay.size() > kNameMax ||
      config.stats_relay.find_first_of("/ \t\r\n") != std::string::npos) {
    reader.refuse(name, config.stats_relay,
                  "host:port of the door for stats, such as "
                  "knative-autoscaler.knative-serving.svc:8080");
  }
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
  config.shadow = reader.boolean_or("SLUICE_SHADOW", false);
  read_stats_relay(reader, config);
  config.log_least = settings::read_log_level(reader);
  config.ready_fd = static_cast<int>(reader.integer_or("SLUICE_READY_FD", -1, {-1, 1'000'000}));
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::autoscaler
