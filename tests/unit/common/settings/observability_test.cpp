#include "common/settings/observability.h"

#include "common/log/request_log.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::settings {
namespace {

using Variables = std::map<std::string, std::string>;

struct Reading {
  ObservabilityConfig config;
  std::string problem;
};

Reading read(const Variables& variables) {
  const Environment environment = [&variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  Reader reader{environment};
  Reading reading{read_observability(reader, ":9091"), ""};
  if (reader.problem()) reading.problem = reader.problem()->text();
  return reading;
}

Reading read_json(const std::string& json) {
  return read({{"OBSERVABILITY_CONFIG", json}});
}

std::string listener(const Variables& variables) {
  const Reading reading = read(variables);
  if (!reading.problem.empty()) return reading.problem;
  return reading.config.metrics ? reading.config.metrics->text() : "closed";
}

TEST(ObservabilityConfig, ServesMetricsAndLogsNothingByDefault) {
  for (const Variables& variables : {Variables{}, Variables{{"OBSERVABILITY_CONFIG", ""}},
                                     Variables{{"OBSERVABILITY_CONFIG", "{}"}}}) {
    const Reading reading = read(variables);
    EXPECT_EQ(reading.problem, "");
    EXPECT_EQ(listener(variables), ":9091");
    EXPECT_EQ(reading.config.request_log, "");
    EXPECT_FALSE(reading.config.probes_logged);
    EXPECT_TRUE(reading.config.warnings.empty());
  }
}

TEST(ObservabilityConfig, ClosesMetricsWhenAnotherProtocolIsNamed) {
  EXPECT_FALSE(read_json(R"({"requestMetrics":{"protocol":"none"}})").config.metrics);
  const Reading remote =
      read_json(R"({"requestMetrics":{"protocol":"grpc","endpoint":"collector:4317"}})");
  EXPECT_FALSE(remote.config.metrics);
  EXPECT_EQ(remote.config.warnings.size(), 1U);
  EXPECT_EQ(remote.problem, "");
}

TEST(ObservabilityConfig, TakesTheListenerOfThePrometheusProtocol) {
  EXPECT_EQ(listener({{"OBSERVABILITY_CONFIG", R"({"requestMetrics":{"protocol":"prometheus"}})"}}),
            ":9091");
  EXPECT_EQ(
      listener({{"OBSERVABILITY_CONFIG",
                 R"({"requestMetrics":{"protocol":"prometheus","endpoint":"127.0.0.1:7000"}})"}}),
      "127.0.0.1:7000");
}

TEST(ObservabilityConfig, VariablesMoveTheListener) {
  EXPECT_EQ(listener({{"SLUICE_METRICS_ADDRESS", "127.0.0.1:0"}}), "127.0.0.1:0");
  EXPECT_EQ(listener({{"SLUICE_METRICS_ADDRESS", ""}}), "closed");
  EXPECT_EQ(listener({{"METRICS_PROMETHEUS_PORT", "7001"}}), ":7001");
  EXPECT_EQ(listener({{"METRICS_PROMETHEUS_HOST", "127.0.0.1"}}), "127.0.0.1:9091");
  EXPECT_EQ(listener({{"METRICS_PROMETHEUS_HOST", "::1"}, {"METRICS_PROMETHEUS_PORT", "65535"}}),
            "[::1]:65535");
}

TEST(ObservabilityConfig, RefusesAWrongListener) {
  for (const char* port : {"80", "1023", "65536", "x", "-1"}) {
    EXPECT_NE(read({{"METRICS_PROMETHEUS_PORT", port}}).problem.find("METRICS_PROMETHEUS_PORT"),
              std::string::npos)
        << port;
  }
  EXPECT_NE(read({{"METRICS_PROMETHEUS_HOST", "no such"}}).problem, "");
  EXPECT_NE(
      read({{"SLUICE_METRICS_ADDRESS", "unix:/m"}, {"METRICS_PROMETHEUS_PORT", "7001"}}).problem,
      "");
  EXPECT_NE(
      read_json(R"({"requestMetrics":{"protocol":"prometheus","endpoint":"host:x"}})").problem, "");
}

TEST(ObservabilityConfig, RefusesTlsForMetricsWithItsReason) {
  EXPECT_NE(read({{"METRICS_PROMETHEUS_TLS_CERT", "/c"}}).problem.find("both"), std::string::npos);
  EXPECT_NE(read({{"METRICS_PROMETHEUS_TLS_KEY", "/k"}}).problem.find("both"), std::string::npos);
  EXPECT_NE(read({{"METRICS_PROMETHEUS_TLS_CERT", "/c"}, {"METRICS_PROMETHEUS_TLS_KEY", "/k"}})
                .problem.find("clear text"),
            std::string::npos);
  EXPECT_NE(read({{"METRICS_PROMETHEUS_TLS_CLIENT_AUTH", "require"}}).problem, "");
  EXPECT_NE(read({{"METRICS_PROMETHEUS_TLS_CLIENT_AUTH", "maybe"}}).problem, "");
  EXPECT_EQ(read({{"METRICS_PROMETHEUS_TLS_CLIENT_AUTH", "none"}}).problem, "");
}

TEST(ObservabilityConfig, TurnsTheRequestLogOnWithItsTemplate) {
  EXPECT_EQ(read_json(R"({"enableRequestLog":true})").config.request_log,
            log::RequestLog::kDefaultTemplate);
  const Reading own = read_json(
      R"({"enableRequestLog":true,"requestLogTemplate":"{{.TraceID}}","enableProbeRequestLog":true})");
  EXPECT_EQ(own.config.request_log, "{{.TraceID}}");
  EXPECT_TRUE(own.config.probes_logged);
  EXPECT_EQ(read_json(R"({"enableRequestLog":true,"requestLogTemplate":""})").config.request_log,
            "");
  EXPECT_EQ(read_json(R"({"requestLogTemplate":"x"})").config.request_log, "");
}

TEST(ObservabilityConfig, WarnsOnceAboutAnExporterOfTraces) {
  const Reading reading = read_json(R"({"tracing":{"protocol":"stdout","samplingRate":0.5}})");
  EXPECT_EQ(reading.config.warnings.size(), 1U);
  EXPECT_EQ(reading.problem, "");
}

TEST(ObservabilityConfig, NamesTheKeyItRefuses) {
  const std::map<std::string, std::string> wrong{
      {R"({"requestMetrics":{"protocol":"statsd"}})", "requestMetrics.protocol"},
      {R"({"requestMetrics":{"protocol":7}})", "requestMetrics.protocol"},
      {R"({"requestMetrics":[]})", "requestMetrics"},
      {R"({"requestMetrics":{"protocol":"grpc"}})", "requestMetrics.endpoint"},
      {R"({"requestMetrics":{"protocol":"none","endpoint":"x:1"}})", "requestMetrics.endpoint"},
      {R"({"requestMetrics":{"exportInterval":-1}})", "requestMetrics.exportInterval"},
      {R"({"tracing":{"protocol":"zipkin"}})", "tracing.protocol"},
      {R"({"tracing":{"protocol":"grpc"}})", "tracing.endpoint"},
      {R"({"tracing":{"samplingRate":2}})", "tracing.samplingRate"},
      {R"({"runtime":{"profiling":"yes"}})", "runtime.profiling"},
      {R"({"enableRequestLog":"true"})", "enableRequestLog"},
      {R"({"enableProbeRequestLog":1})", "enableProbeRequestLog"},
      {R"({"requestLogTemplate":{}})", "requestLogTemplate"},
  };
  for (const auto& [json, key] : wrong) {
    EXPECT_NE(read_json(json).problem.find(key), std::string::npos) << json;
  }
}

TEST(ObservabilityConfig, RefusesAnythingButAJsonObject) {
  for (const std::string& json :
       {std::string{"{"}, std::string{"[]"}, std::string{"null"}, std::string{"{} x"},
        "{\"x\":\"" + std::string(64 * 1024, 'a') + "\"}"}) {
    EXPECT_NE(read_json(json).problem.find("OBSERVABILITY_CONFIG"), std::string::npos);
  }
}

TEST(ObservabilityConfig, IgnoresUnknownKeysAndNulls) {
  const Reading reading = read_json(
      R"({"metrics":{"protocol":"x"},"else":1,"tracing":null,"requestMetrics":{"protocol":null}})");
  EXPECT_EQ(reading.problem, "");
  EXPECT_TRUE(reading.config.metrics);
}

}  // namespace
}  // namespace sluice::settings
