#include "common/settings/observability.h"

#include "common/json/fields.h"
#include "common/json/parse.h"
#include "common/log/request_log.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::settings {
namespace {

using nlohmann::json;
using reading::Fields;
using reading::Findings;
using Need = Reader::Need;

constexpr const char* kVariable = "OBSERVABILITY_CONFIG";
constexpr const char* kOlderMetrics = "SERVING_REQUEST_METRICS_BACKEND";
constexpr const char* kOlderLog = "SERVING_ENABLE_REQUEST_LOG";
constexpr const char* kOlderTemplate = "SERVING_REQUEST_LOG_TEMPLATE";
constexpr const char* kOlderTracing = "TRACING_CONFIG_BACKEND";
constexpr reading::Bounds kBounds{.bytes_max = 64 * 1024};
constexpr std::size_t kTemplateMax = 16 * 1024;
constexpr std::array<std::string_view, 4> kMetrics{"none", "prometheus", "grpc", "http/protobuf"};
constexpr std::array<std::string_view, 4> kTracing{"none", "grpc", "http/protobuf", "stdout"};
constexpr std::array<std::string_view, 2> kProfiling{"disabled", "enabled"};

// A key that is not there or null keeps its default; one of another type is refused, as
// unmarshalling would.
Fields section_of(Fields& root, const char* key, Findings& findings) {
  static const json kEmpty = json::object();
  const json* const value = root.find(key);
  return {value == nullptr ? kEmpty : *value, root.name_of(key), findings, Fields::Null::absent};
}

// One of a fixed set of words; empty counts as not given.
template <std::size_t N>
std::string word(Fields& section, const char* key, const std::array<std::string_view, N>& words) {
  std::string given = section.any_text(key);
  if (given.empty()) return {};
  if (std::find(words.begin(), words.end(), given) != words.end()) return given;
  std::string expected;
  for (const std::string_view allowed : words) {
    expected.append(expected.empty() ? "" : ", ").append(allowed);
  }
  section.refuse(key, "'" + reading::shown(given) + "' is not accepted", "one of " + expected);
  return {};
}

void check_interval(Fields& section) {
  (void)section.number("exportInterval", 0, 0, 1e18);  // nanoseconds
}

// The listener before any override: nothing when requests are measured in another way or not at
// all.
std::optional<std::string> read_metrics(Fields& section, const std::string& usual,
                                        ObservabilityConfig& config) {
  const std::string protocol = word(section, "protocol", kMetrics);
  const std::string endpoint = section.any_text("endpoint");
  check_interval(section);
  if (protocol.empty()) return usual;  // nothing was named: open (15.10)
  if (protocol == "none") {
    if (!endpoint.empty())
      section.refuse("endpoint", "is set", "no endpoint: the protocol is none");
    return std::nullopt;
  }
  if (protocol == "prometheus") return endpoint.empty() ? usual : endpoint;
  if (endpoint.empty())
    section.refuse("endpoint", "is missing", "an endpoint: protocol " + protocol + " needs one");
  config.warnings.push_back("metrics are not exported by " + protocol +
                            " yet; set requestMetrics.protocol to prometheus and scrape them");
  return std::nullopt;
}

void read_tracing(Fields& section, ObservabilityConfig& config) {
  const std::string protocol = word(section, "protocol", kTracing);
  (void)section.number("samplingRate", 0, 0, 1);
  const bool remote = protocol == "grpc" || protocol == "http/protobuf";
  const bool endpoint = !section.any_text("endpoint").empty();
  if (remote && !endpoint)
    section.refuse("endpoint", "is missing", "an endpoint: protocol " + protocol + " needs one");
  if (protocol.empty() || protocol == "none") return;
  config.warnings.push_back("traces are not exported by " + protocol +
                            " yet; trace context is passed on");
}

std::optional<std::string> read_json(Reader& reader, const std::string& usual,
                                     ObservabilityConfig& config) {
  const std::string text = reader.text(kVariable, Need::optional);
  if (text.empty()) return usual;
  json document;
  if (reading::parse(text, kBounds, document) || !document.is_object()) {
    reader.complain({std::string{kVariable} + " is not a JSON object of at most 64 KiB",
                     "give the JSON of Knative's observability settings"});
    return std::nullopt;
  }
  Findings findings;
  Fields root{document, kVariable, findings, Fields::Null::absent};
  Fields metrics = section_of(root, "requestMetrics", findings);
  auto listener = read_metrics(metrics, usual, config);
  Fields tracing = section_of(root, "tracing", findings);
  read_tracing(tracing, config);
  Fields runtime = section_of(root, "runtime", findings);
  check_interval(runtime);
  if (word(runtime, "profiling", kProfiling) == "enabled") {
    config.warnings.emplace_back(
        "profiling is not available (Go programs only); port 8008 is not served");
  }
  std::string log{log::RequestLog::kDefaultTemplate};
  if (root.find("requestLogTemplate") != nullptr) log = root.any_text("requestLogTemplate");
  if (log.size() > kTemplateMax) {
    root.refuse("requestLogTemplate", "has " + std::to_string(log.size()) + " bytes",
                "at most 16 KiB");
  }
  if (root.boolean("enableRequestLog", false)) config.request_log = log;
  config.probes_logged = root.boolean("enableProbeRequestLog", false);
  if (findings.problem) reader.complain(*findings.problem);
  return listener;
}

KnativeContract recognised(const Reader& reader) {
  const bool set =
      reader.find(kOlderMetrics) || reader.find(kOlderLog) || reader.find(kOlderTracing);
  const bool older = set && !reader.find(kVariable);
  return older ? KnativeContract::older : KnativeContract::current;
}

void read_older_log(Reader& reader, ObservabilityConfig& config) {
  const bool wanted = reader.boolean_or(kOlderLog, false);
  const std::string log = reader.text(kOlderTemplate, Need::optional);
  if (log.size() > kTemplateMax) reader.refuse(kOlderTemplate, log, "at most 16 KiB");
  config.probes_logged = reader.boolean_or("SERVING_ENABLE_PROBE_REQUEST_LOG", false);
  if (!wanted) return;
  config.request_log = log;
  if (log.empty()) {
    config.warnings.push_back(std::string{"no request log: "} + kOlderTemplate + " is empty");
  }
}

// Only Prometheus asks us; where another backend was sent the numbers, no port was open either.
std::optional<std::string> read_older(Reader& reader, const std::string& usual,
                                      ObservabilityConfig& config) {
  read_older_log(reader, config);
  reader.integer_or("SERVING_REQUEST_METRICS_REPORTING_PERIOD_SECONDS", 0, {0, 86'400});
  const std::string tracing = reader.text(kOlderTracing, Need::optional);
  if (!tracing.empty() && tracing != "none") {
    config.warnings.push_back("traces are not exported by " + tracing +
                              " yet; trace context is passed on");
  }
  const std::string backend = reader.text(kOlderMetrics, Need::optional);
  if (backend == "prometheus") return usual;
  if (!backend.empty() && backend != "none") {
    config.warnings.push_back("metrics are not exported by " + backend + " yet; set " +
                              kOlderMetrics + " to prometheus and scrape them");
  }
  return std::nullopt;
}

void refuse_metrics_tls(Reader& reader) {
  const std::string certificate = reader.text("METRICS_PROMETHEUS_TLS_CERT", Need::optional);
  const std::string key = reader.text("METRICS_PROMETHEUS_TLS_KEY", Need::optional);
  const std::string clients = reader.text("METRICS_PROMETHEUS_TLS_CLIENT_AUTH", Need::optional);
  if (certificate.empty() != key.empty()) {
    const char* missing =
        certificate.empty() ? "METRICS_PROMETHEUS_TLS_CERT" : "METRICS_PROMETHEUS_TLS_KEY";
    reader.refuse(missing, "", "certificate and key both, or neither");
  } else if (!certificate.empty()) {
    reader.refuse("METRICS_PROMETHEUS_TLS_CERT", certificate,
                  "no certificate: metrics are served in clear text only");
  }
  if (!clients.empty() && clients != "none") {
    const bool known = clients == "optional" || clients == "require";
    reader.refuse(
        "METRICS_PROMETHEUS_TLS_CLIENT_AUTH", clients,
        known ? "none: metrics are served in clear text only" : "none, optional or require");
  }
}

// METRICS_PROMETHEUS_HOST and _PORT change the listener, however it was named.
void override_address(Reader& reader, net::Address& address) {
  const std::string host = reader.text("METRICS_PROMETHEUS_HOST", Need::optional);
  const bool port = !reader.text("METRICS_PROMETHEUS_PORT", Need::optional).empty();
  if (host.empty() && !port) return;
  if (address.is_unix()) {
    reader.refuse(port ? "METRICS_PROMETHEUS_PORT" : "METRICS_PROMETHEUS_HOST",
                  port ? reader.text("METRICS_PROMETHEUS_PORT", Need::optional) : host,
                  "nothing: SLUICE_METRICS_ADDRESS is a Unix socket");
    return;
  }
  if (port) {
    address.port = static_cast<std::uint16_t>(
        reader.integer_or("METRICS_PROMETHEUS_PORT", address.port, {1024, 65'535}));
  }
  if (host.empty()) return;
  const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  const auto parsed = net::parse_address((bare_v6 ? "[" + host + "]" : host) + ":1");
  if (!parsed) {
    reader.refuse("METRICS_PROMETHEUS_HOST", host, "an IP address");
    return;
  }
  address.host = parsed->host;
}

}  // namespace

ObservabilityConfig read_observability(Reader& reader, const std::string& usual) {
  ObservabilityConfig config;
  config.contract = recognised(reader);
  const auto listener = config.contract == KnativeContract::older
                            ? read_older(reader, usual, config)
                            : read_json(reader, usual, config);
  config.service_name = reader.text("OTEL_SERVICE_NAME", Need::optional);
  refuse_metrics_tls(reader);
  const auto own = reader.find("SLUICE_METRICS_ADDRESS");
  const bool closed = !listener || (own && own->empty());
  if (closed) return config;
  if (own) {
    config.metrics = reader.address("SLUICE_METRICS_ADDRESS", "");
  } else if (const auto parsed = net::parse_address(*listener)) {
    config.metrics = *parsed;
  } else {
    reader.complain(
        {std::string{kVariable} + ": requestMetrics.endpoint '" + *listener + "' is not an address",
         "give host:port with an IP address, or :port"});
    return config;
  }
  override_address(reader, *config.metrics);
  return config;
}

}  // namespace sluice::settings
