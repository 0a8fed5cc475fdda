// The environment of queue-proxy.md 3, its rows 56 and 63, and 15.18.

#include "queue-proxy/io/config.h"

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
  EXPECT_EQ(config->limits.head_bytes_max, 1U << 20U);
  EXPECT_EQ(config->limits.connections_max, 16'384U);
  EXPECT_EQ(config->limits.header_memory, 64U << 20U);
  EXPECT_EQ(config->limits.write_timeout, Duration{60s});
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
  for (const auto& [name, value] : std::multimap<std::string, std::string>{
           {"CONTAINER_CONCURRENCY", ""},
           {"CONTAINER_CONCURRENCY", "1e3"},
           {"CONTAINER_CONCURRENCY", "99999999999999999999"},
           {"USER_PORT", ""},
           {"USER_PORT", "0"},
           {"USER_PORT", "80a"},
           {"USER_PORT", "example.com:80"},
           {"QUEUE_SERVING_TLS_PORT", "https"},
           {"SERVING_LOGGING_CONFIG", "{"},
           {"SERVING_LOGGING_CONFIG", "[]"},
           {"SERVING_LOGGING_CONFIG", R"({"level":"loud"})"},
           {"SERVING_LOGGING_LEVEL", "loud"},
           {"SLUICE_NODE_ADDRESS", "node-1"},
           {"SLUICE_NODE_ADDRESS", "10.0.0.7,"},
           {"SLUICE_NODE_ADDRESS", "10.0.0.7, 10.0.0.8"},
           {"SLUICE_NODE_ADDRESS", "::1,::1,::1,::1,::1,::1,::1,::1,::1"},
           {"SLUICE_QUEUE_DEPTH", "0"},
           {"SLUICE_THREADS", "0"},
           {"SLUICE_MAX_HEADERS", "3"},
           {"SLUICE_MAX_STREAMS", "0"},
           {"SLUICE_MAX_CONTROL_FRAMES", "99"},
           {"SLUICE_HEADER_TIMEOUT", "0"},
           {"SLUICE_BODY_TIMEOUT", "nan"},
           {"SLUICE_WRITE_TIMEOUT", "soon"},
           {"SLUICE_HEADER_MEMORY", "1024"},
           {"SLUICE_QUEUE_WAIT", "inf"},
           {"SLUICE_QUEUE_WAIT", "1e9h"},
           {"SLUICE_CERTS_DIR", ""},
           {"SLUICE_METRICS_ADDRESS", "x"},
           {"ENABLE_HTTP2_AUTO_DETECTION", ""},
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

TEST(Config, IsAlwaysReadyWithNothingToProbe) {
  EXPECT_TRUE(with("SERVING_READINESS_PROBE", "")->always_ready);
  EXPECT_FALSE(with("SERVING_READINESS_PROBE", R"({"tcpSocket":{"port":80}})")->always_ready);

  auto variables = usual();
  variables["ENABLE_MULTI_CONTAINER_PROBES"] = "true";
  variables["SERVING_READINESS_PROBE"] = "[]";
  EXPECT_TRUE(read(variables)->always_ready);
}

TEST(Config, HandsTheSwitchesToTheProbes) {
  auto variables = usual();
  variables["ENABLE_MULTI_CONTAINER_PROBES"] = "t";
  variables["ENABLE_HTTP2_AUTO_DETECTION"] = "1";
  variables["SERVING_READINESS_PROBE"] = R"([{"httpGet":{"port":80}},{"tcpSocket":{"port":80}}])";

  const auto config = read(variables);

  ASSERT_TRUE(config);
  ASSERT_EQ(config->probes.size(), 2U);
  EXPECT_TRUE(config->probes[0].detect_http2);
}

TEST(Config, OpensATlsListenerOnlyWhenItsPortIsGiven) {
  EXPECT_FALSE(read(usual())->serving_tls);

  const auto config = with("QUEUE_SERVING_TLS_PORT", "8112");

  ASSERT_TRUE(config);
  ASSERT_TRUE(config->serving_tls);
  EXPECT_EQ(config->serving_tls->text(), ":8112");
}

TEST(Config, WritesTheNodesAddressesAsPeersAreWritten) {
  using Addresses = std::vector<std::string>;
  EXPECT_EQ(with("SLUICE_NODE_ADDRESS", "2001:DB8:0::1")->node_addresses, Addresses{"2001:db8::1"});
  EXPECT_EQ(with("SLUICE_NODE_ADDRESS", "::ffff:10.0.0.7")->node_addresses, Addresses{"10.0.0.7"});
  EXPECT_EQ(with("SLUICE_NODE_ADDRESS", "10.0.0.7,2001:db8::7")->node_addresses,
            (Addresses{"10.0.0.7", "2001:db8::7"}));
  EXPECT_TRUE(with("SLUICE_NODE_ADDRESS", "")->node_addresses.empty());
}

TEST(Config, ThePodItselfAndItsNodeMayStartADrain) {
  using Addresses = std::vector<std::string>;
  auto variables = usual();
  variables["SERVING_POD_IP"] = "FD00:0::5";
  variables["SLUICE_NODE_ADDRESS"] = "10.0.0.7";
  EXPECT_EQ(read(variables)->drain_callers, (Addresses{"10.0.0.7", "fd00::5"}));

  EXPECT_TRUE(with("SERVING_POD_IP", "")->drain_callers.empty());
  EXPECT_TRUE(with("SERVING_POD_IP", "not an address")->drain_callers.empty());
}

TEST(Config, TakesItsLogLevelFromTheVariableOrTheJson) {
  EXPECT_EQ(read(usual())->log_least, log::Severity::info);
  EXPECT_EQ(with("SERVING_LOGGING_LEVEL", "DEBUG")->log_least, log::Severity::debug);
  EXPECT_EQ(with("SERVING_LOGGING_LEVEL", "fatal")->log_least, log::Severity::error);
  EXPECT_EQ(with("SERVING_LOGGING_CONFIG", R"({"level":"warn"})")->log_least,
            log::Severity::warning);
  auto variables = usual();
  variables["SERVING_LOGGING_CONFIG"] = R"({"level":"error","encoding":"json"})";
  variables["SERVING_LOGGING_LEVEL"] = "debug";
  EXPECT_EQ(read(variables)->log_least, log::Severity::debug);
}

TEST(Config, TrustsTheHostOfTheIngressByDefault) {
  EXPECT_EQ(read(usual())->original_host, OriginalHostFrom::ingress);
  EXPECT_EQ(with("SLUICE_ORIGINAL_HOST", "activator")->original_host, OriginalHostFrom::activator);
  const auto refused = with("SLUICE_ORIGINAL_HOST", "anyone");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("ingress or activator"), std::string::npos);
}

TEST(Config, TakesEveryLimitByItsName) {
  auto variables = usual();
  variables["SLUICE_MAX_HEADER_BYTES"] = "2048";
  variables["SLUICE_MAX_HEADERS"] = "64";
  variables["SLUICE_MAX_CONNECTIONS"] = "+7";
  variables["SLUICE_MAX_STREAMS"] = "100";
  variables["SLUICE_MAX_CONTROL_FRAMES"] = "500";
  variables["SLUICE_UPGRADE_BODY_MAX"] = "0";
  variables["SLUICE_HEADER_TIMEOUT"] = "1.5s";
  variables["SLUICE_BODY_TIMEOUT"] = "2m";
  variables["SLUICE_WRITE_TIMEOUT"] = "0";
  variables["SLUICE_HEADER_MEMORY"] = "4096";
  variables["SLUICE_QUEUE_DEPTH"] = "3";
  variables["SLUICE_CERTS_DIR"] = "/certs";

  const auto config = read(variables);

  ASSERT_TRUE(config);
  EXPECT_EQ(config->limits.head_bytes_max, 2048U);
  EXPECT_EQ(config->limits.fields_max, 64U);
  EXPECT_EQ(config->limits.connections_max, 7U);
  EXPECT_EQ(config->limits.streams_max, 100U);
  EXPECT_EQ(config->limits.control_frames_max, 500U);
  EXPECT_EQ(config->limits.upgrade_body_max, 0U);
  EXPECT_EQ(config->limits.header_timeout, Duration{1500ms});
  EXPECT_EQ(config->limits.body_timeout, Duration{2min});
  EXPECT_EQ(config->limits.write_timeout, Duration{0});
  EXPECT_EQ(config->limits.header_memory, 4096U);
  EXPECT_EQ(config->queue_depth, 3);
  EXPECT_EQ(config->certs_dir, "/certs");
}

TEST(Config, ServesOnOneThread) {
  EXPECT_TRUE(with("SLUICE_THREADS", "1"));
  EXPECT_FALSE(with("SLUICE_THREADS", "2"));
}

TEST(Config, ShowsAWrongValueOnOneShortLine) {
  const auto config = with("USER_PORT", "8\n\x1b[2J" + std::string(5000, 'x'));

  ASSERT_FALSE(config);
  const Problem problem = config.error();
  EXPECT_EQ(problem.text().find_first_of("\n\x1b"), std::string::npos);
  EXPECT_LT(problem.text().size(), 300U);
}

}  // namespace
}  // namespace sluice::queue_proxy
