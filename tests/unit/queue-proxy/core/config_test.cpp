// The environment of queue-proxy.md 3, its rows 56 and 63, and 15.18.

#include "queue-proxy/config.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::queue_proxy {
namespace {

using namespace std::chrono_literals;

std::map<std::string, std::string> usual() {
  return {{"CONTAINER_CONCURRENCY", "10"},
          {"QUEUE_SERVING_PORT", "8012"},
          {"QUEUE_SERVING_TLS_PORT", ""},
          {"USER_PORT", "8080"},
          {"REVISION_TIMEOUT_SECONDS", "300"},
          {"SERVING_LOGGING_CONFIG", ""},
          {"SERVING_LOGGING_LEVEL", ""},
          {"SERVING_NAMESPACE", "n"},
          {"SERVING_CONFIGURATION", ""},
          {"SERVING_REVISION", "r"},
          {"SERVING_POD", "p"},
          {"SERVING_POD_IP", "10.0.0.1"}};
}

Result<Config, Problem> read(const std::map<std::string, std::string>& variables) {
  return read_config([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

Result<Config, Problem> with(const std::string& name, const std::string& value) {
  auto variables = usual();
  variables[name] = value;
  return read(variables);
}

TEST(Config, HasTheReferencesDefaults) {
  const auto config = read(usual());

  ASSERT_TRUE(config);
  EXPECT_EQ(config->queue_depth, 100);
  EXPECT_EQ(config->serving.port, 8012);
  EXPECT_EQ(config->user.text(), "127.0.0.1:8080");
  EXPECT_EQ(config->timeout, Duration{300s});
  EXPECT_FALSE(config->response_start);
  EXPECT_FALSE(config->idle);
  EXPECT_TRUE(config->always_ready);
  EXPECT_EQ(config->drain_quiet, Duration{30s});
  EXPECT_EQ(config->head_bytes_max, 1U << 20U);
  EXPECT_EQ(config->connections_max, 16'384U);
}

TEST(Config, NamesTheRequiredVariableThatIsMissing) {
  for (const auto& [name, value] : usual()) {
    auto variables = usual();
    variables.erase(name);

    const auto config = read(variables);

    ASSERT_FALSE(config) << name;
    const Problem problem = config.error();
    EXPECT_NE(problem.text().find(name), std::string::npos) << name;
  }
}

TEST(Config, RefusesWrongValuesByName) {
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"CONTAINER_CONCURRENCY", ""},
           {"USER_PORT", "80a"},
           {"QUEUE_SERVING_PORT", "70000"},
           {"REVISION_TIMEOUT_SECONDS", "5s"},
           {"REVISION_IDLE_TIMEOUT_SECONDS", "-1"},
           {"ENABLE_HTTP_FULL_DUPLEX", "yes"},
           {"SLUICE_QUEUE_WAIT", "soon"},
           {"SLUICE_DRAIN_QUIET", "-1s"},
           {"SLUICE_MAX_HEADER_BYTES", "1"},
           {"SERVING_READINESS_PROBE", "{"},
           {"SERVING_READINESS_PROBE", R"({"tcpSocket":{"port":0}})"},
       }) {
    const auto config = with(name, value);

    ASSERT_FALSE(config) << name;
    const Problem problem = config.error();
    EXPECT_NE(problem.text().find(name), std::string::npos) << problem.text();
  }
}

TEST(Config, TakesTheBooleansOfTheReference) {
  for (const char* value : {"1", "t", "T", "TRUE", "true", "True", "0", "f", "false"}) {
    EXPECT_TRUE(with("ENABLE_HTTP2_AUTO_DETECTION", value)) << value;
  }
}

TEST(Config, TakesUnixAddressesAndDurations) {
  auto variables = usual();
  variables["USER_PORT"] = "unix:/run/app";
  variables["SLUICE_QUEUE_WAIT"] = "500ms";
  variables["SLUICE_DRAIN_QUIET"] = "0";

  const auto config = read(variables);

  ASSERT_TRUE(config);
  EXPECT_EQ(config->user.path, "/run/app");
  EXPECT_EQ(config->queue_wait, Duration{500ms});
  EXPECT_EQ(config->drain_quiet, Duration{0});
}

TEST(Config, MeansHttpWhenAProbeNamesNoScheme) {
  const auto config = with("SERVING_READINESS_PROBE",
                           R"({"httpGet":{"path":"ready","port":"8080"},"successThreshold":3})");

  ASSERT_TRUE(config);
  ASSERT_EQ(config->probes.size(), 1U);
  EXPECT_EQ(config->probes[0].kind, ProbeSpec::Kind::http);
  EXPECT_EQ(config->probes[0].path, "/ready");
  EXPECT_EQ(config->probes[0].success_threshold, 3);
  EXPECT_FALSE(config->always_ready);
}

TEST(Config, TakesSeveralProbesAndOneThatNeverPasses) {
  const auto config = with("SERVING_READINESS_PROBE",
                           R"([{"tcpSocket":{"port":8080}},{"exec":{"command":["true"]}}])");

  ASSERT_TRUE(config);
  ASSERT_EQ(config->probes.size(), 2U);
  EXPECT_EQ(config->probes[0].kind, ProbeSpec::Kind::tcp);
  EXPECT_EQ(config->probes[1].kind, ProbeSpec::Kind::none);
  EXPECT_EQ(config->probes[1].refusal, "exec probe not supported");
}

TEST(Config, LetsNoLineBreakIntoAProbe) {
  EXPECT_FALSE(with("SERVING_READINESS_PROBE", R"({"httpGet":{"path":"/a\r\nX: 1","port":80}})"));
}

}  // namespace
}  // namespace sluice::queue_proxy
