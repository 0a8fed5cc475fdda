#include "programs/autoscaler/config.h"

#include "common/net/host_and_port.h"
#include "common/settings/program_variables.h"

#include <string_view>

namespace sluice::autoscaler {
namespace {

using settings::Reader;
using Need = Reader::Need;

constexpr std::size_t kNameMax = 253;
constexpr std::size_t kSpaceMax = 63;
constexpr std::string_view kSecretLetters = "abcdefghijklmnopqrstuvwxyz0123456789-.";
constexpr std::string_view kSpaceLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";

// Who we are in a cluster, as the downward API tells it.
void read_pod(Reader& reader, Config& config) {
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

// A name, unlike addresses that are bound: Knative's autoscaler is a Service.
void read_stats_relay(Reader& reader, Config& config) {
  const char* const name = "SLUICE_STATS_RELAY";
  config.stats_relay = reader.text(name, Need::optional);
  if (config.stats_relay.empty()) return;
  if (!net::host_and_port(config.stats_relay) || config.stats_relay.size() > kNameMax) {
    reader.refuse(name, config.stats_relay,
                  "host:port of the door for stats, such as "
                  "knative-autoscaler.knative-serving.svc:8080");
  }
}

void read_tls(Reader& reader, Config& config) {
  const char* const secret = "SLUICE_TLS_SECRET";
  config.tls_dir = reader.text("SLUICE_TLS_DIR", Need::optional);
  config.tls_secret = reader.text(secret, Need::optional);
  if (config.tls_secret.empty()) return;
  if (!config.platform_path.empty()) {
    reader.complain(
        {std::string{secret} + " is set, and SLUICE_PLATFORM is dir:PATH",
         "put the files into SLUICE_TLS_DIR: Secrets are for SLUICE_PLATFORM=kubernetes"});
  }
  if (config.tls_dir.empty()) {
    reader.complain({std::string{secret} + " is set, and SLUICE_TLS_DIR is not",
                     "set SLUICE_TLS_DIR to an empty directory, in memory, for what it holds"});
  }
  if (config.tls_secret.size() > kNameMax ||
      config.tls_secret.find_first_not_of(kSecretLetters) != std::string::npos) {
    reader.refuse(secret, config.tls_secret, "the name of a Secret");
  }
}

// On a machine of its own nothing bounds who reaches a port but the address it is bound to.
void read_addresses(Reader& reader, Config& config) {
  const bool directory = !config.platform_path.empty();
  const auto address = [&](const char* name, const char* port, bool proves) {
    const std::string fallback = (directory && !proves ? "127.0.0.1" : "") + std::string{port};
    return reader.address_or(name, fallback.c_str());
  };
  const char* const stats = "SLUICE_STATS_ADDRESS";
  const bool knative = !config.stats_relay.empty() || config.shadow;
  const auto given = reader.find(stats);
  if (given ? !given->empty() : directory || knative) config.stats = address(stats, ":8080", false);
  config.grpc = address("SLUICE_GRPC_ADDRESS", ":8081", !config.tls_dir.empty());
  const char* const enroll = "SLUICE_ENROLL_ADDRESS";
  if (!config.tls_secret.empty()) {
    config.enroll = address(enroll, ":8083", true);
  } else if (reader.find(enroll)) {
    reader.complain({std::string{enroll} + " is set, and SLUICE_TLS_SECRET is not",
                     "set SLUICE_TLS_SECRET, whose CA signs for node agents, or give the agents "
                     "files of their own in SLUICE_TLS_DIR"});
  }
  config.api = address("SLUICE_API_ADDRESS", ":8082", false);
  config.metrics = address("SLUICE_METRICS_ADDRESS", ":9090", false);
}

void read_api_token(Reader& reader, Config& config) {
  const char* const name = "SLUICE_API_TOKEN_FILE";
  config.api_token_file = reader.text(name, Need::optional);
  if (config.api_token_file.empty() || !config.shadow) return;
  reader.complain({std::string{name} + " is set, and SLUICE_SHADOW is true",
                   "unset one of them: a shadow changes nothing"});
}

}  // namespace

Result<Config, Problem> read_config(const settings::Environment& environment) {
  Reader reader{environment};
  Config config;
  config.platform_path = settings::read_platform_directory(reader);
  const bool directory = !config.platform_path.empty();
  config.platform = directory ? "dir:" + config.platform_path : "kubernetes";
  if (!directory) read_pod(reader, config);
  config.name = reader.text("POD_NAME", Need::optional);
  if (config.name.size() > kNameMax) {
    reader.refuse("POD_NAME", config.name, "a name of at most 253 bytes");
  }
  if (config.name.empty()) config.name = "autoscaler";
  config.shadow = reader.boolean_or("SLUICE_SHADOW", false);
  read_stats_relay(reader, config);
  read_tls(reader, config);
  read_addresses(reader, config);
  read_api_token(reader, config);
  config.log_least = settings::read_log_level(reader);
  config.ready_fd = settings::read_ready_fd(reader);
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::autoscaler
