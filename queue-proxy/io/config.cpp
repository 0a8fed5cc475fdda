#include "queue-proxy/io/config.h"

#include "common/http/message.h"
#include "common/json/parse.h"
#include "common/json/read.h"
#include "common/settings/program_variables.h"
#include "common/settings/tls_variables.h"
#include "queue-proxy/io/probe_config.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <limits>

namespace sluice::queue_proxy {
namespace {

using Need = Reader::Need;

constexpr long kIntMax = std::numeric_limits<std::int32_t>::max();
constexpr long kBreakerMax = kIntMax / 11;  // running and waiting together fit an int
constexpr Duration kHeaderTimeoutLeast = std::chrono::milliseconds{10};
constexpr Duration kHeaderTimeoutMost = std::chrono::hours{1};
constexpr Duration kDayLong = std::chrono::hours{24};

constexpr std::size_t kNodeAddressesMost = 8;

constexpr const char* kAdminName = "SLUICE_ADMIN_ADDRESS";
constexpr const char* kAdminUsual = ":8022";

void read_addresses(Reader& reader, Config& config) {
  config.serving = reader.address("QUEUE_SERVING_PORT", "");
  config.user = reader.address("USER_PORT", "127.0.0.1");
  if (!reader.problem() && !config.user.is_unix() && config.user.port == 0) {
    reader.refuse("USER_PORT", *reader.find("USER_PORT"), "the port of the user container");
  }
  if (!reader.text("QUEUE_SERVING_TLS_PORT", Need::required).empty()) {
    config.serving_tls = reader.address("QUEUE_SERVING_TLS_PORT", "");
  }
  config.admin = reader.address_or(kAdminName, kAdminUsual);
  config.stats = reader.address_or("SLUICE_STATS_ADDRESS", ":9090");
}

// The peer's address is compared as text, so that a setting takes the form a peer's has.
std::optional<std::string> as_peer(const std::string& ip) {
  constexpr std::string_view kMapped = "::ffff:";
  for (const int family : {AF_INET, AF_INET6}) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (inet_pton(family, ip.c_str(), bytes.data()) == 1 &&
        inet_ntop(family, bytes.data(), text.data(), text.size()) != nullptr) {
      std::string_view shown{text.data()};
      const bool mapped = shown.starts_with(kMapped) && shown.find('.') != std::string_view::npos;
      if (mapped) shown.remove_prefix(kMapped.size());
      return std::string{shown};
    }
  }
  return std::nullopt;
}

// One address, or those of both families with a comma, as status.hostIPs writes them.
std::vector<std::string> read_node_addresses(Reader& reader) {
  const char* name = "SLUICE_NODE_ADDRESS";
  std::vector<std::string> addresses;
  for (const std::string& each : reader.list(name)) {
    const auto address = as_peer(each);
    if (!address || addresses.size() == kNodeAddressesMost) {
      reader.refuse(name, each, "the node's IP address, or at most 8 of them with commas");
      return {};
    }
    addresses.push_back(*address);
  }
  return addresses;
}

std::optional<OriginalHostFrom> original_host_named(std::string_view word) {
  if (word == "activator") return OriginalHostFrom::activator;
  if (word.empty() || word == "ingress") return OriginalHostFrom::ingress;
  return std::nullopt;
}

OriginalHostFrom read_original_host(Reader& reader) {
  return reader.word_or("SLUICE_ORIGINAL_HOST", OriginalHostFrom::ingress, original_host_named,
                        "ingress or activator");
}

void read_identity(Reader& reader, Config& config) {
  config.space = reader.text("SERVING_NAMESPACE", Need::required);
  config.service = reader.text("SERVING_SERVICE", Need::optional);
  config.configuration = reader.text("SERVING_CONFIGURATION", Need::required);
  config.revision = reader.text("SERVING_REVISION", Need::required);
  config.pod = reader.text("SERVING_POD", Need::required);
  config.pod_ip = reader.text("SERVING_POD_IP", Need::required);
  config.node_addresses = read_node_addresses(reader);
  config.drain_callers = config.node_addresses;
  if (auto own = as_peer(config.pod_ip)) config.drain_callers.push_back(std::move(*own));
  config.original_host = read_original_host(reader);
  config.certs_dir = reader.find("SLUICE_CERTS_DIR").value_or("/var/lib/knative/certs");
  if (config.certs_dir.empty()) reader.refuse("SLUICE_CERTS_DIR", "", "a directory");
}

std::optional<log::Severity> severity_of(const std::string& level) {
  const auto is = [&](const char* name) { return http::equals_ignoring_case(level, name); };
  if (is("debug")) return log::Severity::debug;
  if (is("info")) return log::Severity::info;
  if (is("warn")) return log::Severity::warning;
  if (is("error") || is("dpanic") || is("panic") || is("fatal")) return log::Severity::error;
  return std::nullopt;
}

// The level variable has the last word; without it the one of the JSON counts. Of the rest of that
// JSON, which describes another logger's encoders, nothing is used.
void read_logging(Reader& reader, Config& config) {
  constexpr const char* kLevels = "debug, info, warn, error, dpanic, panic or fatal";
  const std::string json = reader.text("SERVING_LOGGING_CONFIG", Need::required);
  std::string level = reader.text("SERVING_LOGGING_LEVEL", Need::required);
  const char* named_by = "SERVING_LOGGING_LEVEL";
  if (!json.empty()) {
    const auto document = reading::parsed(json);
    if (!document.is_object()) {
      reader.refuse("SERVING_LOGGING_CONFIG", json, "a JSON object or empty");
      return;
    }
    if (level.empty()) {
      level = reading::text(document, "level");
      named_by = "SERVING_LOGGING_CONFIG";
    }
  }
  if (level.empty()) return;
  const auto severity = severity_of(level);
  if (!severity) reader.refuse(named_by, level, std::string{"a level: "} + kLevels);
  config.log_least = severity.value_or(config.log_least);
}

void read_timeouts(Reader& reader, Config& config) {
  using std::chrono::seconds;
  config.timeout = seconds{reader.integer("REVISION_TIMEOUT_SECONDS", {0, kIntMax})};
  const long start = reader.integer_or("REVISION_RESPONSE_START_TIMEOUT_SECONDS", 0, {0, kIntMax});
  const long idle = reader.integer_or("REVISION_IDLE_TIMEOUT_SECONDS", 0, {0, kIntMax});
  if (start > 0) config.response_start = seconds{start};
  if (idle > 0) config.idle = seconds{idle};
}

void read_readiness(Reader& reader, Config& config) {
  const ProbeReading how{
      .several = reader.boolean_or("ENABLE_MULTI_CONTAINER_PROBES", false),
      .detect_http2 = reader.boolean_or("ENABLE_HTTP2_AUTO_DETECTION", false),
  };
  const std::string text = reader.text("SERVING_READINESS_PROBE", Need::optional);
  if (!text.empty()) {
    auto probes = read_probes(text, how);
    if (!probes) {
      reader.complain(probes.error());
      return;
    }
    config.probes = std::move(*probes);
  }
  config.always_ready = config.probes.empty();
}

void read_limits(Reader& reader, Config& config) {
  InputLimits& limits = config.limits;
  limits.head_bytes_max =
      reader.size_or("SLUICE_MAX_HEADER_BYTES", limits.head_bytes_max, {1024, 16 << 20});
  limits.header_memory =
      reader.size_or("SLUICE_HEADER_MEMORY", std::max(limits.header_memory, limits.head_bytes_max),
                     {static_cast<long>(limits.head_bytes_max), 1L << 50});
  limits.fields_max = reader.size_or("SLUICE_MAX_HEADERS", limits.fields_max, {16, 65'535});
  limits.connections_max =
      reader.size_or("SLUICE_MAX_CONNECTIONS", limits.connections_max, {1, 1'000'000});
  limits.streams_max = reader.size_or("SLUICE_MAX_STREAMS", limits.streams_max, {1, 10'000});
  limits.control_frames_max =
      reader.size_or("SLUICE_MAX_CONTROL_FRAMES", limits.control_frames_max, {100, 1'000'000});
  limits.upgrade_body_max =
      reader.size_or("SLUICE_UPGRADE_BODY_MAX", limits.upgrade_body_max, {0, 16 << 20});
  limits.header_timeout = reader.wait_or("SLUICE_HEADER_TIMEOUT", limits.header_timeout,
                                         {kHeaderTimeoutLeast, kHeaderTimeoutMost});
  limits.body_timeout =
      reader.wait_or("SLUICE_BODY_TIMEOUT", limits.body_timeout, {Duration{0}, kDayLong});
  limits.write_timeout =
      reader.wait_or("SLUICE_WRITE_TIMEOUT", limits.write_timeout, {Duration{0}, kDayLong});
}

void read_breaker(Reader& reader, Config& config) {
  config.container_concurrency =
      static_cast<int>(reader.integer("CONTAINER_CONCURRENCY", {-kIntMax, kBreakerMax}));
  const long usual = 10L * std::max(1, config.container_concurrency);
  config.queue_depth =
      static_cast<int>(reader.integer_or("SLUICE_QUEUE_DEPTH", usual, {1, 1'000'000}));
  config.queue_wait = reader.wait_or("SLUICE_QUEUE_WAIT", Duration{0}, {Duration{0}, kDayLong});
  config.drain_quiet =
      reader.wait_or("SLUICE_DRAIN_QUIET", config.drain_quiet, {Duration{0}, kDayLong});
}

}  // namespace

Result<net::Address, Problem> read_admin(const Environment& environment) {
  Reader reader{environment};
  net::Address address = reader.address_or(kAdminName, kAdminUsual);
  if (reader.problem()) return *reader.problem();
  return address;
}

// PROFILING_PORT, SYSTEM_NAMESPACE, HOST_IP, ROOT_CA and OTEL_* are sent by controllers and need no
// reading: nothing here depends on them.
Result<Config, Problem> read_config(const Environment& environment) {
  Reader reader{environment};
  Config config;
  read_breaker(reader, config);
  read_addresses(reader, config);
  config.tls = settings::read_tls_settings(reader, "QUEUE_PROXY_TLS_");
  read_timeouts(reader, config);
  // Full duplex is always on (15.15); the variable is still checked.
  reader.boolean_or("ENABLE_HTTP_FULL_DUPLEX", false);
  read_readiness(reader, config);
  read_logging(reader, config);
  read_identity(reader, config);
  config.observability = settings::read_observability(reader, ":9091");
  config.ignore_paths = reader.text("SLUICE_IGNORE_PATHS", Need::optional);
  config.ignore_user_agents = reader.text("SLUICE_IGNORE_USER_AGENTS", Need::optional);
  read_limits(reader, config);
  settings::check_threads(reader);
  config.ready_fd = settings::read_ready_fd(reader);
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::queue_proxy
