#include "queue-proxy/config.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <limits>

namespace sluice::queue_proxy {
namespace {

using nlohmann::json;

constexpr std::size_t kProbeJsonMax = 64 * 1024;

Problem wrong(const std::string& name, const std::string& value, const std::string& expected) {
  return {name + "='" + value + "' is wrong", "give " + expected};
}

std::optional<long> parse_integer(const std::string& text) {
  long value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

// `10s`, `500ms`, `2m`, bare `0`.
std::optional<Duration> parse_wait(const std::string& text) {
  if (text == "0") return Duration{0};
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, number);
  if (ec != std::errc{} || number < 0 || number > 1e9) return std::nullopt;
  const std::string_view unit{stop, static_cast<std::size_t>(end - stop)};
  if (unit == "ms") return from_seconds(number / 1000);
  if (unit == "s") return from_seconds(number);
  if (unit == "m") return from_seconds(number * 60);
  if (unit == "h") return from_seconds(number * 3600);
  return std::nullopt;
}

// Reads variables in order and keeps the first complaint, so that the list below reads as a table.
class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_{environment} {}

  std::string text(const char* name, bool required) {
    const auto value = environment_(name);
    if (!value && required) complain({std::string{"required variable "} + name + " is not set", "set it"});
    return value.value_or("");
  }

  long integer(const char* name, bool required, long fallback, long least, long most) {
    const auto value = environment_(name);
    if (!value) {
      if (required) complain({std::string{"required variable "} + name + " is not set", "set it"});
      return fallback;
    }
    const auto number = parse_integer(*value);
    if (!number || *number < least || *number > most) {
      complain(wrong(name, *value,
                     "an integer from " + std::to_string(least) + " to " + std::to_string(most)));
      return fallback;
    }
    return *number;
  }

  Duration wait(const char* name, Duration fallback) {
    const auto value = environment_(name);
    if (!value) return fallback;
    const auto duration = parse_wait(*value);
    if (!duration) complain(wrong(name, *value, "a duration such as 10s or 500ms"));
    return duration.value_or(fallback);
  }

  void boolean(const char* name) {
    const auto value = environment_(name);
    if (!value) return;
    for (const char* allowed : {"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"}) {
      if (*value == allowed) return;
    }
    complain(wrong(name, *value, "true or false"));
  }

  // A port, or an address in one of the forms of protocols.md 1.
  net::Address address(const char* name, std::optional<std::string> value, const char* host) {
    if (!value) {
      complain({std::string{"required variable "} + name + " is not set", "set it"});
      return {};
    }
    std::string text = *value;
    if (text.find(':') == std::string::npos) text = std::string{host} + ":" + text;
    const auto parsed = net::parse_address(text);
    if (!parsed) {
      complain(wrong(name, *value, "a port, host:port or unix:/path"));
      return {};
    }
    return *parsed;
  }

  std::optional<std::string> optional(const char* name) { return environment_(name); }

  void complain(Problem problem) {
    if (!problem_) problem_ = std::move(problem);
  }

  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  const Environment& environment_;  // outlives the reader: an argument of read_config
  std::optional<Problem> problem_;
};

std::optional<std::uint16_t> port_of(const json& action) {
  const auto found = action.find("port");
  if (found == action.end()) return std::nullopt;
  std::optional<long> number;
  if (found->is_number_integer()) number = found->get<long>();
  if (found->is_string()) number = parse_integer(found->get<std::string>());
  if (!number || *number < 1 || *number > std::numeric_limits<std::uint16_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(*number);
}

std::string text_of(const json& object, const char* key, const std::string& fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : fallback;
}

long number_of(const json& object, const char* key, long fallback) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<long>() : fallback;
}

bool field_is_safe(const std::string& text) {
  return text.find_first_of(std::string_view{"\r\n\0", 3}) == std::string::npos;
}

Result<ProbeSpec, Problem> read_action(const json& probe, ProbeSpec spec) {
  const bool http = probe.contains("httpGet");
  const json& action = http ? probe["httpGet"] : probe["tcpSocket"];
  const auto port = action.is_object() ? port_of(action) : std::nullopt;
  if (!port) {
    return Problem{"SERVING_READINESS_PROBE: the probe has no port from 1 to 65535", "name its port"};
  }
  spec.kind = http ? ProbeSpec::Kind::http : ProbeSpec::Kind::tcp;
  spec.port = *port;
  spec.host = text_of(action, "host", "127.0.0.1");
  if (!net::parse_address(spec.host + ":1")) {
    return Problem{"SERVING_READINESS_PROBE: host '" + spec.host + "' is not an IP address",
                   "use 127.0.0.1"};
  }
  if (!http) return spec;
  if (text_of(action, "scheme", "HTTP") == "HTTPS") {
    return Problem{"SERVING_READINESS_PROBE: scheme HTTPS is not available yet", "use HTTP"};
  }
  spec.path = text_of(action, "path", "/");
  if (!spec.path.starts_with('/')) spec.path.insert(0, "/");
  if (const auto headers = action.find("httpHeaders"); headers != action.end()) {
    for (const json& header : *headers) {
      if (!header.is_object()) continue;
      spec.headers.emplace_back(text_of(header, "name", ""), text_of(header, "value", ""));
      if (!field_is_safe(spec.headers.back().first + spec.headers.back().second)) {
        return Problem{"SERVING_READINESS_PROBE: a header holds a line break", "remove it"};
      }
    }
  }
  if (!field_is_safe(spec.path) || spec.path.find(' ') != std::string::npos) {
    return Problem{"SERVING_READINESS_PROBE: the path holds a space or line break", "escape it"};
  }
  return spec;
}

Result<ProbeSpec, Problem> read_probe(const json& probe) {
  if (!probe.is_object()) {
    return Problem{"SERVING_READINESS_PROBE: a probe is not a JSON object", "give a Kubernetes Probe"};
  }
  ProbeSpec spec;
  spec.period = std::chrono::seconds{number_of(probe, "periodSeconds", 0)};
  spec.timeout = std::chrono::seconds{number_of(probe, "timeoutSeconds", 0)};
  spec.success_threshold = static_cast<int>(std::max(1L, number_of(probe, "successThreshold", 1)));
  if (probe.contains("httpGet") || probe.contains("tcpSocket")) {
    return read_action(probe, std::move(spec));
  }
  spec.refusal = probe.contains("exec")   ? "exec probe not supported"
                 : probe.contains("grpc") ? "grpc probe not available yet"
                                          : "no probe found";
  return spec;
}

void read_probes(Reader& reader, Config& config) {
  const std::string text = reader.text("SERVING_READINESS_PROBE", false);
  config.always_ready = text.empty();
  if (text.empty()) return;
  const json document =
      text.size() > kProbeJsonMax ? json{json::value_t::discarded} : json::parse(text, nullptr, false);
  if (document.is_discarded()) {
    reader.complain({"SERVING_READINESS_PROBE is not valid JSON", "give the JSON of a Kubernetes Probe"});
    return;
  }
  const json list = document.is_array() ? document : json::array({document});
  for (const json& entry : list) {
    auto probe = read_probe(entry);
    if (!probe) {
      reader.complain(probe.error());
      return;
    }
    config.probes.push_back(*probe);
  }
}

void read_addresses(Reader& reader, Config& config) {
  config.serving = reader.address("QUEUE_SERVING_PORT", reader.optional("QUEUE_SERVING_PORT"), "");
  config.user = reader.address("USER_PORT", reader.optional("USER_PORT"), "127.0.0.1");
  const std::string tls = reader.text("QUEUE_SERVING_TLS_PORT", true);
  if (!tls.empty()) reader.address("QUEUE_SERVING_TLS_PORT", tls, "");
  config.admin = reader.address("SLUICE_ADMIN_ADDRESS",
                                reader.optional("SLUICE_ADMIN_ADDRESS").value_or(":8022"), "");
  config.stats = reader.address("SLUICE_STATS_ADDRESS",
                                reader.optional("SLUICE_STATS_ADDRESS").value_or(":9090"), "");
}

void read_identity(Reader& reader, Config& config) {
  reader.text("SERVING_LOGGING_CONFIG", true);
  reader.text("SERVING_LOGGING_LEVEL", true);
  config.space = reader.text("SERVING_NAMESPACE", true);
  config.service = reader.text("SERVING_SERVICE", false);
  config.configuration = reader.text("SERVING_CONFIGURATION", true);
  config.revision = reader.text("SERVING_REVISION", true);
  config.pod = reader.text("SERVING_POD", true);
  config.pod_ip = reader.text("SERVING_POD_IP", true);
  config.node_address = reader.text("SLUICE_NODE_ADDRESS", false);
}

}  // namespace

Result<Config, Problem> read_config(const Environment& environment) {
  constexpr long kIntMax = std::numeric_limits<int>::max();
  Reader reader{environment};
  Config config;
  config.container_concurrency =
      static_cast<int>(reader.integer("CONTAINER_CONCURRENCY", true, 0, -kIntMax, kIntMax / 11));
  read_addresses(reader, config);
  config.timeout =
      std::chrono::seconds{reader.integer("REVISION_TIMEOUT_SECONDS", true, 300, 0, 86'400)};
  const long start = reader.integer("REVISION_RESPONSE_START_TIMEOUT_SECONDS", false, 0, 0, 86'400);
  const long idle = reader.integer("REVISION_IDLE_TIMEOUT_SECONDS", false, 0, 0, 86'400);
  if (start > 0) config.response_start = std::chrono::seconds{start};
  if (idle > 0) config.idle = std::chrono::seconds{idle};
  for (const char* name : {"ENABLE_HTTP_FULL_DUPLEX", "ENABLE_HTTP2_AUTO_DETECTION",
                           "ENABLE_MULTI_CONTAINER_PROBES"}) {
    reader.boolean(name);
  }
  read_probes(reader, config);
  read_identity(reader, config);
  config.queue_depth = static_cast<int>(
      reader.integer("SLUICE_QUEUE_DEPTH", false, 10L * config.container_concurrency, 0, 1'000'000));
  config.queue_wait = reader.wait("SLUICE_QUEUE_WAIT", Duration{0});
  config.drain_quiet = reader.wait("SLUICE_DRAIN_QUIET", config.drain_quiet);
  config.head_bytes_max = static_cast<std::size_t>(
      reader.integer("SLUICE_MAX_HEADER_BYTES", false, 1 << 20, 1024, 16 << 20));
  config.connections_max = static_cast<std::size_t>(
      reader.integer("SLUICE_MAX_CONNECTIONS", false, 16'384, 1, 1'000'000));
  config.ready_fd = static_cast<int>(reader.integer("SLUICE_READY_FD", false, -1, -1, 1'000'000));
  if (reader.problem()) return *reader.problem();
  return config;
}

}  // namespace sluice::queue_proxy
