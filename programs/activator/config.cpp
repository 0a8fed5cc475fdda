#include "programs/activator/config.h"

#include "common/settings/log_level.h"
#include "common/settings/tls_variables.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {
namespace {

using settings::EnvReader;
using Need = EnvReader::Need;

constexpr Duration kDayLong = std::chrono::hours{24};
constexpr std::size_t kHeaderBytes = 64 * 1024;
constexpr Duration kHeaderTimeoutLeast = std::chrono::milliseconds{10};
constexpr Duration kHeaderTimeoutMost = std::chrono::hours{1};
constexpr Duration kProbeLeast = std::chrono::milliseconds{1};
constexpr Duration kProbeMost = std::chrono::minutes{1};
constexpr std::string_view kDirectory = "dir:";

std::string needed(EnvReader& reader, const char* name, const char* what) {
  std::string value = reader.text(name, Need::required);
  if (value.empty()) reader.refuse(name, value, what);
  return value;
}

void read_identity(EnvReader& reader, std::string_view resolv_conf, Config& config) {
  config.pod = needed(reader, "POD_NAME", "this activator's name");
  config.pod_ip = needed(reader, "POD_IP", "the IP address under which others reach it");
  config.system_space = needed(reader, "SYSTEM_NAMESPACE", "a namespace such as knative-serving");
  config.cluster_domain = reader.text("CLUSTER_DOMAIN", Need::optional);
  if (config.cluster_domain.empty()) config.cluster_domain = cluster_domain_of(resolv_conf);
  if (config.cluster_domain.empty()) config.cluster_domain = "cluster.local";
}

void read_platform(EnvReader& reader, Config& config) {
  const char* const name = "SLUICE_PLATFORM";
  const std::string value = reader.find(name).value_or("kubernetes");
  if (value == "kubernetes") return;
  if (!value.starts_with(kDirectory) || value.size() == kDirectory.size()) {
    reader.refuse(name, value, "kubernetes or dir:PATH");
    return;
  }
  config.platform_path = value.substr(kDirectory.size());
}

void read_addresses(EnvReader& reader, Config& config) {
  config.http = reader.address_or("SLUICE_HTTP_ADDRESS", ":8012");
  config.h2c = reader.address_or("SLUICE_H2C_ADDRESS", ":8013");
  const auto tls = reader.find("SLUICE_TLS_ADDRESS");
  if (!tls || !tls->empty()) config.tls = reader.address_or("SLUICE_TLS_ADDRESS", ":8112");
  config.certs_dir = reader.find("SLUICE_CERTS_DIR").value_or("/var/lib/knative/certs");
  config.tls_settings = settings::read_tls_settings(reader, "ACTIVATOR_TLS_");
  config.pods_over_tls = reader.boolean_or("SLUICE_POD_TLS", false);
  config.pod_tls_port = static_cast<std::uint16_t>(
      reader.integer_or("SLUICE_POD_TLS_PORT", config.pod_tls_port, {1, 65'535}));
}

// A name may stand here, unlike where we listen: it is resolved at each attempt.
bool is_dialable(const std::string& target) {
  if (target.starts_with("unix:/")) return true;
  const std::size_t colon = target.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == target.size()) return false;
  const std::string port = target.substr(colon + 1);
  return port.find_first_not_of("0123456789") == std::string::npos && port.size() <= 5 &&
         std::stoi(port) >= 1 && std::stoi(port) <= 65'535;
}

void read_link(EnvReader& reader, Config& config) {
  const char* const name = "SLUICE_AUTOSCALER_ADDRESS";
  const std::string targets = reader.text(name, Need::optional);
  for (std::size_t at = 0; at < targets.size();) {
    const std::size_t comma = std::min(targets.find(',', at), targets.size());
    config.autoscalers.push_back(targets.substr(at, comma - at));
    if (!is_dialable(config.autoscalers.back())) {
      reader.refuse(name, targets, "host:port or unix:/path, or several of them with commas");
    }
    at = comma + 1;
  }
  config.rpc_tls_dir = reader.text("SLUICE_TLS_DIR", Need::optional);
  const char* const stats = "SLUICE_STATS_TARGET";
  config.knative_autoscaler = reader.text(stats, Need::optional);
  if (config.knative_autoscaler.empty()) {
    config.knative_autoscaler =
        "autoscaler." + config.system_space + ".svc." + config.cluster_domain + ":8080";
  } else if (!is_dialable(config.knative_autoscaler) ||
             config.knative_autoscaler.starts_with("unix:")) {
    reader.refuse(stats, config.knative_autoscaler, "host:port");
  }
}

void read_mesh(EnvReader& reader, Config& config) {
  const char* const name = "SLUICE_MESH_COMPATIBILITY_MODE";
  if (const auto value = reader.find(name)) {
    const auto mode = parse_mesh_mode(*value);
    if (!mode) reader.refuse(name, *value, "auto, enabled or disabled");
    config.mesh = mode.value_or(MeshMode::automatic);
  }
  const char* const addressability = "SLUICE_MESH_POD_ADDRESSABILITY";
  config.pod_addressability = reader.boolean_or(addressability, false);
  if (config.pod_addressability && config.mesh == MeshMode::enabled) {
    reader.refuse(addressability, "true",
                  "false with SLUICE_MESH_COMPATIBILITY_MODE=enabled, which never dials pods");
  }
}

void read_contract(EnvReader& reader, Config& config) {
  const char* const name = "SLUICE_KNATIVE_CONTRACT";
  const std::string version = reader.text(name, Need::optional);
  if (version.empty()) return;
  config.contract = settings::contract_of(version);
  if (!config.contract) {
    reader.refuse(name, version, "the version of the installed Knative, such as 1.15");
  }
}

void read_queues(EnvReader& reader, Config& config) {
  config.queue_depth = static_cast<std::int32_t>(
      reader.integer_or("SLUICE_QUEUE_DEPTH", config.queue_depth, {1, 1'000'000}));
  config.queues.waiting_max =
      reader.integer_or("SLUICE_QUEUE_TOTAL", config.queues.waiting_max, {1, 10'000'000});
  config.queues.bytes_max =
      reader.integer_or("SLUICE_QUEUE_BYTES", config.queues.bytes_max, {1 << 16, 1L << 50});
  config.queue_wait = reader.wait_or("SLUICE_QUEUE_WAIT", Duration{0}, {Duration{0}, kDayLong});
  config.idle_connections =
      reader.size_or("MAX_IDLE_PROXY_CONNS", config.idle_connections, {0, 1'000'000});
  config.idle_connections_per_pod = reader.size_or("MAX_IDLE_PROXY_CONNS_PER_HOST",
                                                   config.idle_connections_per_pod, {0, 1'000'000});
  config.probe_timeout =
      reader.wait_or("PROBE_TIMEOUT", config.probe_timeout, {kProbeLeast, kProbeMost});
  config.probe_frequency =
      reader.wait_or("PROBE_FREQUENCY", config.probe_frequency, {kProbeLeast, kProbeMost});
  config.drain_quiet =
      reader.wait_or("SLUICE_DRAIN_QUIET", config.drain_quiet, {Duration{0}, kDayLong});
  config.cold_start_header = reader.boolean_or("SLUICE_COLD_START_HEADER", false);
}

void read_limits(EnvReader& reader, const QueueBudgetSpec& queues, net::ServerLimits& limits) {
  limits.head_bytes_max = reader.size_or("SLUICE_MAX_HEADER_BYTES", kHeaderBytes, {1024, 16 << 20});
  const std::size_t heads =
      std::max(static_cast<std::size_t>(queues.bytes_max) / 8, limits.head_bytes_max);
  limits.open_heads_bytes_max = reader.size_or(
      "SLUICE_HEADER_MEMORY", heads, {static_cast<long>(limits.head_bytes_max), 1L << 50});
  limits.write_timeout =
      reader.wait_or("SLUICE_WRITE_TIMEOUT", limits.write_timeout, {Duration{0}, kDayLong});
  limits.fields_max = reader.size_or("SLUICE_MAX_HEADERS", limits.fields_max, {16, 65'535});
  // A client that waits for a cold start holds a connection: room for every waiter and more.
  limits.connections_max = reader.size_or("SLUICE_MAX_CONNECTIONS", 65'536, {1, 1'000'000});
  limits.streams_max = static_cast<std::uint32_t>(
      reader.size_or("SLUICE_MAX_STREAMS", limits.streams_max, {1, 10'000}));
  limits.control_frames_max = static_cast<std::uint32_t>(
      reader.size_or("SLUICE_MAX_CONTROL_FRAMES", limits.control_frames_max, {100, 1'000'000}));
  limits.upgrade_body_max =
      reader.size_or("SLUICE_UPGRADE_BODY_MAX", limits.upgrade_body_max, {0, 16 << 20});
  limits.head_timeout = reader.wait_or("SLUICE_HEADER_TIMEOUT", limits.head_timeout,
                                       {kHeaderTimeoutLeast, kHeaderTimeoutMost});
  limits.body_timeout =
      reader.wait_or("SLUICE_BODY_TIMEOUT", limits.body_timeout, {Duration{0}, kDayLong});
}

}  // namespace

std::string cluster_domain_of(std::string_view resolv_conf) {
  constexpr std::string_view kSearch = "search";
  constexpr std::string_view kServices = "svc.";
  constexpr std::string_view kBlank = " \t\r";
  while (!resolv_conf.empty()) {
    const std::size_t end = std::min(resolv_conf.find('\n'), resolv_conf.size());
    std::string_view line = resolv_conf.substr(0, end);
    resolv_conf.remove_prefix(std::min(end + 1, resolv_conf.size()));
    if (!line.starts_with(kSearch)) continue;
    line.remove_prefix(kSearch.size());
    while (!line.empty()) {
      const std::size_t first = std::min(line.find_first_not_of(kBlank), line.size());
      line.remove_prefix(first);
      std::string_view word = line.substr(0, line.find_first_of(kBlank));
      line.remove_prefix(word.size());
      if (!word.starts_with(kServices)) continue;
      word.remove_prefix(kServices.size());
      if (word.ends_with('.')) word.remove_suffix(1);
      return std::string{word};
    }
  }
  return {};
}

// PROFILING_PORT, CONFIG_LOGGING_NAME, CONFIG_OBSERVABILITY_NAME and KUBERNETES_MIN_VERSION are
// sent by Knative's manifests and need no reading: nothing here depends on them.
Result<Config, Problem> read_config(const settings::Environment& environment,
                                    std::string_view resolv_conf) {
  EnvReader reader{environment};
  Config config;
  read_identity(reader, resolv_conf, config);
  read_platform(reader, config);
  read_addresses(reader, config);
  read_link(reader, config);
  read_mesh(reader, config);
  read_contract(reader, config);
  read_queues(reader, config);
  read_limits(reader, config.queues, config.limits);
  config.log_least = settings::read_log_level(reader);
  config.observability = settings::read_observability(
      reader, config.platform_path.empty() ? ":9090" : "127.0.0.1:9090");
  const auto threads = reader.find("SLUICE_THREADS");
  if (threads && *threads != "1")
    reader.refuse("SLUICE_THREADS", *threads, "1: the program uses one thread");
  config.ready_fd = static_cast<int>(reader.integer_or("SLUICE_READY_FD", -1, {-1, 1'000'000}));
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::activator
