#include "platform/process/engine_settings.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice::local {
namespace {

const std::vector<int> kCores{0, 1, 2, 5};

Result<EngineSettings, std::vector<Problem>> read(const std::string& text) {
  return parse_engine_settings(text, "c.yaml", kCores);
}

/// The first problem on one line.
std::string first(const std::string& text) {
  const auto settings = read(text);
  return settings ? "accepted" : settings.error().front().text();
}

TEST(EngineSettings, ReadsEveryKey) {
  const auto settings = read(R"(
http: 0.0.0.0:9000
max-replicas: 5
stop-timeout: 3s
log-level: debug
log-format: json
cold-start-header: false
autoscaler: {stable-window: 30s, allow-zero-initial-scale: "false"}
defaults: {timeout-seconds: 60, container-concurrency: 2}
groups: [{name: a}]
queue: {depth: 1, total: 2, bytes: 3Mi, wait: 4s}
limits: {header-bytes: 1Mi, connections: 7, write-timeout: 5s}
)");

  ASSERT_TRUE(settings.has_value()) << settings.error().front().text();
  EXPECT_EQ(settings->http, "0.0.0.0:9000");
  EXPECT_EQ(settings->max_replicas, 5);
  EXPECT_EQ(settings->stop_timeout, Duration{std::chrono::seconds{3}});
  EXPECT_FALSE(settings->cold_start_header);
  EXPECT_EQ(settings->autoscaler.at("stable-window"), "30s");
  EXPECT_EQ(settings->autoscaler.at("allow-zero-initial-scale"), "false");
  EXPECT_FALSE(settings->autoscaler.contains("initial-scale"));
  EXPECT_EQ(settings->defaults.timeout.count(), 60);
  EXPECT_EQ(settings->groups.at(0).name, "a");
  EXPECT_EQ(settings->queue.bytes, 3 << 20);
  EXPECT_EQ(settings->limits.header_bytes, 1 << 20);
  EXPECT_EQ(settings->limits.connections, 7);
  EXPECT_EQ(settings->limits.write_timeout, Duration{std::chrono::seconds{5}});
  EXPECT_EQ(settings->origins.at("queue.depth"), "c.yaml:11");
}

TEST(EngineSettings, UnknownAndWrongKeysAreNamed) {
  EXPECT_EQ(first("max-replica: 1\n"),
            "c.yaml:1: unknown key `max-replica` in `config`; did you mean `max-replicas`?");
  EXPECT_EQ(first("log-level: loud\n"),
            "c.yaml:1: `log-level` is `loud`; use one of debug, info, warn, error");
  EXPECT_EQ(first("limits: {header-bytes: 100}\n"),
            "c.yaml:1: `header-bytes` is `100`; use 1Ki to 16Mi");
  EXPECT_EQ(first("queue: {bytes: many}\n").substr(0, 24), "c.yaml:1: `bytes`: `many");
  const auto all =
      read("http: 127.0.0.1:x\nmax-replicas: 0\ndashboard:\n  hosts: [':::bad']\nmax-replica: 5\n")
          .error();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].text(), "c.yaml:1: `http` is not an address; write it like 127.0.0.1:8080");
  EXPECT_TRUE(all[1].what.starts_with("c.yaml:2: `max-replicas`"));
  EXPECT_TRUE(all[2].what.starts_with("c.yaml:4: `:::bad` is not a host"));
  EXPECT_TRUE(all[3].what.starts_with("c.yaml:5: unknown key `max-replica`"));
}

TEST(EngineSettings, OpenTheDashboardByName) {
  EXPECT_FALSE(read("http: 127.0.0.1:1\n")->dashboard.any_peer());
  EXPECT_FALSE(read("dashboard: {peers: loopback}\n")->dashboard.any_peer());
  const auto opened = read("dashboard:\n  peers: any\n  hosts: [box.example.com, box]\n");
  EXPECT_TRUE(opened->dashboard.any_peer());
  EXPECT_EQ(opened->dashboard.hosts, (std::vector<std::string>{"box.example.com", "box"}));
  EXPECT_EQ(opened->origins.at("dashboard.hosts"), "c.yaml:3");
  EXPECT_EQ(first("dashboard: {peers: all}\n"),
            "c.yaml:1: `peers` is `all`; use one of loopback, any");
  EXPECT_EQ(first("dashboard: {hosts: ['http://box:80']}\n"),
            "c.yaml:1: `http://box:80` is not a host; write a bare name such as box.example.com, "
            "without scheme and port");
  EXPECT_EQ(first("dashboard: {host: [box]}\n"),
            "c.yaml:1: unknown key `host` in `dashboard`; did you mean `hosts`?");
}

TEST(EngineSettings, AbsentFilesMeanDefaultsUnlessNamed) {
  EXPECT_EQ(load_engine_settings({}, {"/nowhere/c.yaml"})->max_replicas, 200);
  EXPECT_EQ(load_engine_settings({}, {})->autoscaler.at("allow-zero-initial-scale"), "true");
  EXPECT_EQ(load_engine_settings({}, {})->autoscaler.at("initial-scale"), "0");
  EXPECT_FALSE(load_engine_settings("/nowhere/c.yaml", {}).has_value());
}

// Each key of the table, set to another value than its default, is read back by the parser.
TEST(EngineSettings, EveryKeyOfTheTableIsTakenByTheParser) {
  const std::map<std::string, std::string> others{
      {"http", "127.0.0.1:1"},
      {"log-level", "warn"},
      {"log-format", "json"},
      {"container-runtime", "docker"},
      {"cold-start-header", "false"},
      {"groups", "[{name: a}]"},
      {"placement.policies", "[{name: a}]"},
      {"placement.max-moves-per-demand", "7"},
      {"dashboard.peers", "any"},
      {"dashboard.hosts", "[box]"},
      {"autoscaler.pod-autoscaler-class", "kpa.sluice.dev"},
      {"autoscaler.enable-scale-to-zero", "'false'"},
      {"autoscaler.allow-zero-initial-scale", "'false'"},
      {"autoscaler.stable-window", "30s"},
      {"autoscaler.scale-to-zero-grace-period", "7s"},
      {"autoscaler.scale-to-zero-pod-retention-period", "7s"},
      {"autoscaler.scale-down-delay", "7s"}};
  const auto lines = setting_lines(EngineSettings{});
  EXPECT_GE(lines.size(), 39U);
  for (const SettingLine& line : lines) {
    EXPECT_EQ(line.value, line.fallback) << line.key;
    EXPECT_TRUE(line.origin.empty() && !line.type.empty() && !line.meaning.empty()) << line.key;
    if (line.key == "autoscaler.max-scale-limit") continue;  // not without max-scale
    const auto given = others.find(line.key);
    std::string value = given == others.end() ? "77" : given->second;
    if (line.type.starts_with("size")) value = "8Ki";
    if (line.type.starts_with("duration")) value = "7s";
    const std::size_t dot = line.key.find('.');
    const std::string text = dot == std::string::npos ? line.key + ": " + value
                                                      : line.key.substr(0, dot) + ":\n  " +
                                                            line.key.substr(dot + 1) + ": " + value;
    const auto parsed = read(text);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().front().text();
    for (const SettingLine& now : setting_lines(*parsed)) {
      EXPECT_EQ(now.value == now.fallback, now.key != line.key) << text << " " << now.key;
      EXPECT_EQ(now.origin.empty(), now.key != line.key) << text << " " << now.key;
    }
  }
}

TEST(EngineSettings, MisspeltAutoscalerKeyIsRefusedAndTheExampleOfAConfigMapPasses) {
  const auto verdict_of = [](const std::string& text) {
    const auto settings = read(text);
    return settings ? std::string{"accepted"} : settings.error().front().text();
  };

  EXPECT_EQ(verdict_of("autoscaler: {stable-window: 30s, _example: text}"), "accepted");
  EXPECT_EQ(verdict_of("autoscaler: {stabel-window: 30s}"),
            "c.yaml:1: unknown key `stabel-window` in `autoscaler`; did you mean "
            "`stable-window`?");
}

TEST(MachineGroups, AreReadWithAllThatTheyHave) {
  const auto settings = read(R"(
groups:
  - {name: fast, cpus: "0-1,5", memory: 1Gi, replicas: 4, labels: {gpu: "no"}}
  - name: slow
    preference: 1
    cpu: 1500m
)");

  ASSERT_TRUE(settings.has_value()) << settings.error().front().text();
  const MachineGroup fast{.name = "fast",
                          .memory = std::int64_t{1} << 30,
                          .replicas = 4,
                          .cpus = {0, 1, 5},
                          .labels = {{"gpu", "no"}}};
  const MachineGroup slow{.name = "slow", .preference = 1, .cpu = 1500};
  EXPECT_EQ(settings->groups, (std::vector<MachineGroup>{fast, slow}));
  EXPECT_EQ(settings->origins.at("groups"), "c.yaml:2");
}

TEST(MachineGroups, AreShownAsTheParserReadsThem) {
  const auto settings = read(R"(
groups:
  - {name: fast, cpus: "0-1,5", memory: 1Gi, replicas: 4, labels: {gpu: "no", "a b": "c: d"}}
  - {name: slow, preference: -1, cpu: 1.5}
)");
  ASSERT_TRUE(settings.has_value()) << settings.error().front().text();

  const std::string shown = format_groups(settings->groups);

  EXPECT_EQ(shown,
            "[{name: fast, preference: 0, memory: 1Gi, replicas: 4, cpus: \"0-1,5\", labels: {a b: "
            "\"c: d\", gpu: \"no\"}}, {name: slow, preference: -1, cpu: 1500m}]");
  EXPECT_EQ(read("groups: " + shown)->groups, settings->groups);
  EXPECT_EQ(format_groups({}), "");
}

TEST(MachineGroups, EachMistakeIsNamedWithItsLineAndItsFix) {
  const auto wrong = [](const std::string& fields) {
    return first("groups:\n- {name: a}\n- {name: b, " + fields + "}\n");
  };

  EXPECT_EQ(wrong("prefrence: 1"),
            "c.yaml:3: unknown key `prefrence` in `groups`; did you mean `preference`?");
  EXPECT_EQ(wrong("preference: high"),
            "c.yaml:3: `preference` must be a whole number from -1000000 to 1000000, not `high`; "
            "write such a number");
  EXPECT_EQ(wrong("cpu: lots"),
            "c.yaml:3: `cpu`: `lots` is not a number of CPUs; write it like 0.5, 2 or 500m");
  EXPECT_EQ(
      wrong("cpu: 0"),
      "c.yaml:3: `cpu`: `0` is out of range for a number of CPUs; use more than 0 and at most "
      "4096");
  EXPECT_EQ(wrong("memory: 4"),
            "c.yaml:3: `memory`: `4` is only 4 bytes of memory; did you mean 4Gi?");
  EXPECT_EQ(wrong("memory: 4Gb"),
            "c.yaml:3: `memory`: `4Gb` is not a size; write it like 64Mi, 1Gi or 500M");
  EXPECT_EQ(wrong("replicas: -1"),
            "c.yaml:3: `replicas` must be a whole number from 1 to 10000, not `-1`; write such a "
            "number");
  EXPECT_EQ(wrong("cpus: [0]"), "c.yaml:3: `cpus` must be text, not a list; write one value");
  EXPECT_EQ(wrong("labels: gpu"),
            "c.yaml:3: `labels` must be a mapping; write `key: value` lines, indented below it");
}

TEST(MachineGroups, NamesAreDnsLabelsEachOnce) {
  EXPECT_EQ(first("groups:\n- {name: Fast_1}\n"),
            "c.yaml:2: `Fast_1` is not a DNS label; use 1 to 63 of a-z, 0-9 and -, beginning and "
            "ending with a letter or digit");
  EXPECT_EQ(first("groups:\n- {name: a}\n- {name: b}\n- {name: a}\n"),
            "c.yaml:4: two groups are named `a`; rename one");
  EXPECT_EQ(first("groups:\n- {name: any}\n"),
            "c.yaml:2: `any` cannot be the name of a group: it means every group; give the group "
            "another name");
  EXPECT_EQ(first("groups:\n- {cpu: 1}\n"), "c.yaml:2: a group has no `name`; give it one");
  EXPECT_EQ(first("groups:\n- {nam: a}\n"),
            "c.yaml:2: unknown key `nam` in `groups`; did you mean `name`?");
  EXPECT_EQ(first("groups: [a]\n"),
            "c.yaml:1: `groups` must be a mapping; write `key: value` lines, indented below it");
}

TEST(MachineGroups, AreAtMostSixtyFour) {
  const auto many = [](int count) {
    std::string text = "groups:\n";
    for (int i = 0; i < count; ++i) text += "- {name: g" + std::to_string(i) + "}\n";
    return first(text);
  };

  EXPECT_EQ(many(64), "accepted");
  EXPECT_EQ(many(65), "c.yaml:1: `groups` has more than 64 items; shorten it");
}

TEST(MachineGroups, HaveOnlyCoresThatAreThere) {
  const auto cpus = [](const std::string& text) {
    return first("groups:\n- name: a\n  cpus: '" + text + "'\n");
  };

  EXPECT_EQ(cpus("2,0-1,0"), "accepted");
  EXPECT_EQ(cpus("99"),
            "c.yaml:3: `cpus`: there is no core 99; use cores of 0-2,5, which are there");
  EXPECT_EQ(cpus("2-3"),
            "c.yaml:3: `cpus`: there is no core 3; use cores of 0-2,5, which are there");
  for (const char* text : {"", "a", "1-", "-1", "2-1", "0,,1", "0-1-2", "4096", "0 1"}) {
    EXPECT_EQ(cpus(text), "c.yaml:3: `cpus`: `" + std::string{text} +
                              "` is no list of cores; write it like 0-1,4");
  }
}

TEST(MachineGroups, MoreThanTheMachineIsNamed) {
  const std::vector<MachineGroup> groups{
      {.name = "a", .cpu = 1500, .memory = std::int64_t{3} << 30},
      {.name = "b", .cpu = 1000, .memory = std::int64_t{3} << 29},
      {.name = "c"}};
  const auto said = [&groups](std::size_t cores, std::int64_t gibibytes) {
    const auto problem = more_than_machine(groups, cores, gibibytes << 30);
    return problem ? problem->what : "nothing";
  };

  EXPECT_EQ(said(3, 5), "nothing");
  EXPECT_EQ(said(2, 4),
            "`groups` have more together than the machine: cpu 2500m of 2, memory 4.5Gi of 4.0Gi");
  EXPECT_EQ(said(2, 0), "`groups` have more together than the machine: cpu 2500m of 2");
}

}  // namespace
}  // namespace sluice::local
