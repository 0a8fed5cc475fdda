#include "programs/activator/config.h"

#include "common/net/host_and_port.h"
#include "common/settings/program_variables.h"
#include "common/settings/tls_variables.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {
namespace {

using settings::Reader;
using Need = Reader::Need;

constexpr Duration kDayLong = std::chrono::hours{24};
constexpr std::size_t kHeaderBytes = 64 * 1024;
constexpr Duration kHeaderTimeoutLeast = std::chrono::milliseconds{10};
constexpr Duration kHeaderTimeoutMost = std::chrono::hours{1};
constexpr Duration kProbeLeast = std::chrono::milliseconds{1};
constexpr Duration kProbeMost = std::chrono::minutes{1};

void read_identity(Reader& reader, std::string_view resolv_conf, Config& config) {
  config.pod = reader.needed("POD_NAME", "this activator's name");
  config.pod_ip = reader.needed("POD_IP", "the IP address under which others reach it");
  config.system_space = reader.needed("SYSTEM_NAMESPACE", "a namespace such as knative-serving");
  config.cluster_domain = reader.text("CLUSTER_DOMAIN", Need::optional);
  if (config.cluster_domain.empty()) config.cluster_domain = cluster_domain_of(resolv_conf);
  if (config.cluster_domain.empty()) config.cluster_domain = "cluster.local";
}

void read_addresses(Reader& reader, Config& config) {
  config.http = reader.address_or("SLUICE_HTTP_ADDRESS", ":8012");
  config.h2c = reader.address_or("SLUICE_H2C_ADDRESS", ":8013");
  config.tls = reader.address_unless_empty("SLUICE_TLS_ADDRESS", ":8112");
  config.certs_dir = reader.find("SLUICE_CERTS_DIR").value_or("/var/lib/knative/certs");
  config.tls_settings = settings::read_tls_settings(reader, "ACTIVATOR_TLS_");
  config.pods_over_tls = reader.boolean_or("SLUICE_POD_TLS", false);
  config.pod_tls_port = static_cast<std::uint16_t>(
      reader.integer_or("SLUICE_POD_TLS_PORT", config.pod_tls_port, {1, 65'535}));
}

void read_link(Reader& reader, Config& config) {
  const char* const name = "SLUICE_AUTOSCALER_ADDRESS";
  config.autoscalers = reader.list(name);
  const bool listed = !config.autoscalers.empty();
  std::erase(config.autoscalers, "");
  if (listed && config.autoscalers.empty()) {
    reader.refuse(name, reader.find(name).value_or(""), "host:port or unix:/path");
  }
  for (const std::string& each : config.autoscalers) {
    if (!net::is_dialable(each)) {
      reader.refuse(name, each, "host:port or unix:/path, or several of them with commas");
    }
  }
  config.rpc_tls_dir = reader.text("SLUICE_TLS_DIR", Need::optional);
  const char* const stats = "SLUICE_STATS_TARGET";
  config.knative_autoscaler = reader.text(stats, Need::optional);
  if (config.knative_autoscaler.empty()) {
    config.knative_autoscaler =
        "autoscaler." + config.system_space + ".svc." + config.cluster_domain + ":8080";
  } else if (!net::host_and_port(config.knative_autoscaler)) {
    reader.refuse(stats, config.knative_autoscaler, "host:port");
  }
}

void read_mesh(Reader& reader, Config& config) {
  const char* const name = "SLUICE_MESH_COMPATIBILITY_MODE";
  config.mesh =
      reader.word_or(name, MeshMode::automatic, parse_mesh_mode, "auto, enabled or disabled");
  const char* const addressability = "SLUICE_MESH_POD_ADDRESSABILITY";
  config.pod_addressability = reader.boolean_or(addressability, false);
  if (config.pod_addressability && config.mesh == MeshMode::enabled) {
    reader.refuse(addressability, "true",
                  "false with SLUICE_MESH_COMPATIBILITY_MODE=enabled, which never dials pods");
  }
}

void read_contract(Reader& reader, Config& config) {
  const char* const name = "SLUICE_KNATIVE_CONTRACT";
  const std::string version = reader.text(name, Need::optional);
  if (version.empty()) return;
  config.contract = settings::contract_of(version);
  if (!config.contract) {
    reader.refuse(name, version, "the version of the installed Knative, such as 1.15");
  }
}

void read_queues(Reader& reader, Config& config) {
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

void read_limits(Reader& reader, const QueueBudgetSpec& queues, net::ServerLimits& limits) {
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
  Reader reader{environment};
  Config config;
  read_identity(reader, resolv_conf, config);
  config.platform_path = settings::read_platform_directory(reader);
  read_addresses(reader, config);
  read_link(reader, config);
  read_mesh(reader, config);
  read_contract(reader, config);
  read_queues(reader, config);
  read_limits(reader, config.queues, config.limits);
  config.log_least = settings::read_log_level(reader);
  config.observability = settings::read_observability(
      reader, config.platform_path.empty() ? ":9090" : "127.0.0.1:9090");
  settings::check_threads(reader);
  config.ready_fd = settings::read_ready_fd(reader);
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::activator
