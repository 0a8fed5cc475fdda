#include "programs/node-agent/config.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::node_agent {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Config, Usage> read(std::vector<const char*> words, const Variables& variables = {}) {
  words.insert(words.begin(), "node-agent");
  return read_config(static_cast<int>(words.size()), words.data(),
                     [&](const char* name) -> std::optional<std::string> {
                       const auto at = variables.find(name);
                       return at == variables.end() ? std::nullopt : std::optional{at->second};
                     });
}

std::string refusal(std::vector<const char*> words, const Variables& variables = {}) {
  const auto config = read(std::move(words), variables);
  EXPECT_FALSE(config.has_value());
  return config ? "" : std::to_string(config.error().exit_code) + " " + config.error().text;
}

TEST(AgentConfig, TheDefaultsAreTheReferences) {
  const auto config = read({});

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->task, Task::run);
  EXPECT_EQ(config->policy.policy, PolicyKind::foresight);
  EXPECT_DOUBLE_EQ(config->policy.upper, 0.90);
  EXPECT_DOUBLE_EQ(config->policy.lower, 0.84);
  EXPECT_EQ(config->policy.quota_millicores, 25);
  EXPECT_EQ(config->policy.reserve, std::int64_t{200} << 20);
  EXPECT_EQ(config->lease, std::chrono::seconds{10});
  EXPECT_EQ(config->policy.hold, HoldBy::freezer);
  EXPECT_EQ(config->policy.sight, std::chrono::milliseconds{10});
  EXPECT_EQ(config->state_dir, "/var/lib/sluice/node-agent");
  EXPECT_EQ(config->memory_source, "proc");
  EXPECT_TRUE(config->policy.gate && config->policy.pause);
  EXPECT_EQ(config->metrics->port, 9090);
}

TEST(AgentConfig, EveryFlagIsRead) {
  const auto config = read({"--policy",
                            "off",
                            "--upper",
                            "0.92",
                            "--lower",
                            "0.86",
                            "--step",
                            "2",
                            "--escalate-after",
                            "2s",
                            "--sample",
                            "100ms",
                            "--quota",
                            "10m",
                            "--overcommit-factor",
                            "0.8",
                            "--reserve",
                            "1Gi",
                            "--order",
                            "usage",
                            "--memory-source",
                            "cgroup:/lab/n1",
                            "--runtime-endpoint",
                            "unix:///run/x.sock",
                            "--state-dir",
                            "/tmp/state",
                            "--dry-run",
                            "--hold",
                            "quota",
                            "--sight",
                            "1s",
                            "--confidence",
                            "3",
                            "--brake",
                            "2",
                            "--lease",
                            "5s",
                            "--no-gate",
                            "--no-pause"});

  ASSERT_TRUE(config.has_value()) << config.error().text;
  EXPECT_EQ(config->policy.policy, PolicyKind::off);
  EXPECT_DOUBLE_EQ(config->policy.upper, 0.92);
  EXPECT_DOUBLE_EQ(config->policy.lower, 0.86);
  EXPECT_EQ(config->policy.step, 2U);
  EXPECT_EQ(config->policy.escalate_after, std::chrono::seconds{2});
  EXPECT_EQ(config->policy.sample, std::chrono::milliseconds{100});
  EXPECT_EQ(config->policy.quota_millicores, 10);
  EXPECT_EQ(config->policy.reserve, std::int64_t{1} << 30);
  EXPECT_EQ(config->policy.order, Order::usage);
  EXPECT_EQ(config->policy.hold, HoldBy::quota);
  EXPECT_EQ(config->policy.sight, std::chrono::seconds{1});
  EXPECT_DOUBLE_EQ(config->policy.confidence, 3);
  EXPECT_DOUBLE_EQ(config->policy.brake, 2);
  EXPECT_EQ(config->memory_source, "cgroup:/lab/n1");
  EXPECT_EQ(config->socket, "/run/x.sock");
  EXPECT_EQ(config->state_dir, "/tmp/state");
  EXPECT_TRUE(config->dry_run);
  EXPECT_EQ(config->lease, std::chrono::seconds{5});
  EXPECT_FALSE(config->policy.gate || config->policy.pause);
}

TEST(AgentConfig, UnknownPolicyIsRefusedWithTheValidOnes) {
  EXPECT_EQ(refusal({"--policy", "paper"}),
            "2 --policy='paper' is wrong; give foresight, headroom or off");
}

// Row 3.
TEST(AgentConfig, ALowerBoundThatIsNotBelowTheUpperIsRefusedWithBoth) {
  const std::string text = refusal({"--upper", "0.8", "--lower", "0.85"});

  EXPECT_TRUE(text.starts_with("2 ")) << text;
  EXPECT_NE(text.find("0.8"), std::string::npos) << text;
  EXPECT_NE(text.find("0.85"), std::string::npos) << text;
}

// Row 4.
TEST(AgentConfig, ValuesThatCannotBeAreRefused) {
  EXPECT_TRUE(refusal({"--upper", "1.1"}).starts_with("2 "));
  EXPECT_TRUE(refusal({"--lower=-0.1"}).starts_with("2 "));
  EXPECT_TRUE(refusal({"--step", "0"}).starts_with("2 "));
  EXPECT_TRUE(refusal({"--escalate-after", "0"}).starts_with("2 "));
  EXPECT_TRUE(refusal({"--quota", "100u"}).starts_with("2 "));
}

TEST(AgentConfig, WrongArgumentsAreNamedWithTheirFix) {
  EXPECT_NE(refusal({"--policy", "magic"}).find("--policy='magic'"), std::string::npos);
  EXPECT_NE(refusal({"--reserve", "lots"}).find("200Mi"), std::string::npos);
  EXPECT_NE(refusal({"--hold", "ice"}).find("freezer or quota"), std::string::npos);
  EXPECT_NE(refusal({"--sight", "-1s"}).find("duration"), std::string::npos);
  EXPECT_NE(refusal({"--sample", "soon"}).find("duration"), std::string::npos);
  EXPECT_NE(refusal({"--state-dir", "here"}).find("absolute"), std::string::npos);
  EXPECT_NE(refusal({"--runtime-endpoint", "tcp://x"}).find("unix:///"), std::string::npos);
  EXPECT_TRUE(refusal({"--nonsense"}).starts_with("2 "));
}

TEST(AgentConfig, TheEnvironmentNamesTheReceiverOfReports) {
  const auto config = read({}, {{"SLUICE_AUTOSCALER_ADDRESS", "a:8081,b:8081"},
                                {"NODE_NAME", "n7"},
                                {"SLUICE_METRICS_ADDRESS", "127.0.0.1:0"}});

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->autoscalers, (std::vector<std::string>{"a:8081", "b:8081"}));
  EXPECT_EQ(config->node, "n7");
  EXPECT_EQ(config->metrics->port, 0);
}

TEST(AgentConfig, NriIsAskedAtItsUsualSocketAtAnotherOrNotAtAll) {
  EXPECT_EQ(read({})->nri, "/run/nri/nri.sock");
  EXPECT_EQ(read({}, {{"SLUICE_NRI_SOCKET", "/x/nri.sock"}})->nri, "/x/nri.sock");
  EXPECT_EQ(read({}, {{"SLUICE_NRI_SOCKET", "unix:///x/nri.sock"}})->nri, "/x/nri.sock");
  EXPECT_EQ(read({}, {{"SLUICE_NRI_SOCKET", ""}})->nri, "");
  EXPECT_NE(refusal({}, {{"SLUICE_NRI_SOCKET", "nri.sock"}}).find("SLUICE_NRI_SOCKET"),
            std::string::npos);
  EXPECT_TRUE(refusal({}, {{"SLUICE_NRI_SOCKET", "/" + std::string(107, 'x')}}).starts_with("78 "));
}

TEST(AgentConfig, AnEmptyMetricsAddressIsNone) {
  EXPECT_FALSE(read({}, {{"SLUICE_METRICS_ADDRESS", ""}})->metrics.has_value());
}

TEST(AgentConfig, WrongVariablesAreRefusedAsSettings) {
  EXPECT_TRUE(refusal({}, {{"SLUICE_AUTOSCALER_ADDRESS", "nowhere"}}).starts_with("78 "));
  EXPECT_TRUE(refusal({}, {{"SLUICE_LOG_LEVEL", "loud"}}).starts_with("78 "));
}

TEST(AgentConfig, ATokenAListOfCasADoorAndADirectoryBelongTogether) {
  const Variables whole{{"SLUICE_TOKEN_FILE", "/t"},
                        {"SLUICE_CA_FILE", "/c"},
                        {"SLUICE_TLS_DIR", "/d"},
                        {"SLUICE_ENROLL_ADDRESS", "autoscaler:8083"}};
  EXPECT_EQ(read({}, whole)->token_file, "/t");
  EXPECT_EQ(read({}, whole)->enroll, "autoscaler:8083");
  for (const auto& [missing, value] : whole) {
    Variables rest = whole;
    rest.erase(missing);
    EXPECT_EQ(refusal({}, rest).rfind("78 ", 0), 0U) << missing;
    EXPECT_NE(refusal({}, rest).find("set together"), std::string::npos) << missing;
  }
  EXPECT_EQ(read({}, {{"SLUICE_TLS_DIR", "/d"}})->tls_dir, "/d");
  Variables nowhere = whole;
  nowhere["SLUICE_ENROLL_ADDRESS"] = "autoscaler";
  EXPECT_NE(refusal({}, nowhere).find("host:port"), std::string::npos);
}

TEST(AgentConfig, VerbsAndTheirFlagsAreRead) {
  EXPECT_EQ(read({"status", "--json", "--state-dir", "/x"})->task, Task::status);
  EXPECT_TRUE(read({"status", "--json"})->json);
  EXPECT_EQ(read({"status", "--state-dir", "/x"})->state_dir, "/x");
  EXPECT_EQ(read({"off"})->task, Task::off);
  EXPECT_EQ(read({"on"})->task, Task::on);
  EXPECT_EQ(read({"--restore"})->task, Task::restore);
  EXPECT_EQ(read({"guard", "--state-dir", "/x", "--lease", "1500ms"})->lease,
            std::chrono::milliseconds{1500});
}

TEST(AgentConfig, QuantitiesAreReadAsKubernetesReadsThem) {
  EXPECT_EQ(read({"--reserve", "1.5Gi"})->policy.reserve, std::int64_t{1536} << 20);
  EXPECT_EQ(read({"--reserve", "17"})->policy.reserve, 17);
  EXPECT_EQ(read({"--quota", "30m"})->policy.quota_millicores, 30);
  EXPECT_EQ(read({"--quota", "0.05"})->policy.quota_millicores, 50);
  EXPECT_NE(refusal({"--reserve", "1Qi"}).find("a size such as 200Mi"), std::string::npos);
  EXPECT_NE(refusal({"--reserve", "1.1E"}).find("a size such as 200Mi"), std::string::npos);
  EXPECT_NE(refusal({"--quota", "25x"}).find("CPU such as 25m"), std::string::npos);
}

}  // namespace
}  // namespace sluice::node_agent
