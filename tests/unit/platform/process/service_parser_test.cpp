#include <gtest/gtest.h>

#include "platform/process/engine_settings.h"
#include "platform/process/service_spec.h"
#include <filesystem>
#include <map>
#include <string>

namespace sluice::local {
namespace {

const std::string kHead = R"(apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: shop
spec:
  template:
    spec:
)";

/// A service whose template spec is `text`, which begins at line 8.
std::string with_spec(const std::string& text) {
  return kHead + text;
}

/// A service whose container is `text`, which begins at line 9; `command` is given.
std::string with_container(const std::string& text) {
  return kHead + "      containers: [{command: [app], " + text + "}]\n";
}

/// The first problem on one line, or `accepted`.
std::string verdict(const std::string& yaml) {
  const auto parsed = parse_services(yaml, "f.yaml", "/srv");
  return parsed ? "accepted" : parsed.error().problems.front().text();
}

TEST(ServiceParser, ReadsAWholeService) {
  const auto parsed = parse_services(R"(
apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: shop
  annotations: {sluice.dev/hosts: "Shop.example.com, localhost/shop/"}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/min-scale: 1
        sluice.dev/port: "3000"
        sluice.dev/stop-grace: 3s
        sluice.dev/start-timeout: 2m
    spec:
      containerConcurrency: 5
      timeoutSeconds: 30
      responseStartTimeoutSeconds: 10
      idleTimeoutSeconds: 9
      containers:
        - command: [node]
          args: [server.js, --x]
          workingDir: web/../api
          env: [{name: A, value: "1"}, {name: B}]
          ports: [{name: http1, containerPort: 8080}]
          readinessProbe:
            httpGet: {path: healthz, httpHeaders: [{name: Host, value: shop}]}
            periodSeconds: 2
          resources: {limits: {cpu: 500m, memory: 64Mi}}
  traffic: [{latestRevision: true, percent: 100}]
)",
                                     "f.yaml", "/srv");

  ASSERT_TRUE(parsed.has_value()) << parsed.error().problems.front().text();
  const ServiceSpec& spec = parsed->services.at(0);
  EXPECT_EQ(spec.hosts, (std::vector<HostRule>{{"shop.example.com", ""}, {"localhost", "/shop"}}));
  EXPECT_EQ(spec.template_annotations.at("autoscaling.knative.dev/min-scale"), "1");
  EXPECT_EQ(spec.fixed_port, 3000);
  EXPECT_EQ(spec.stop_grace, Duration{std::chrono::seconds{3}});
  EXPECT_EQ(spec.start_timeout, Duration{std::chrono::seconds{120}});
  EXPECT_EQ(spec.container_concurrency, 5);
  EXPECT_EQ(spec.timeout.count(), 30);
  EXPECT_EQ(spec.args, (std::vector<std::string>{"server.js", "--x"}));
  EXPECT_EQ(spec.working_dir, "/srv/api");
  EXPECT_EQ(spec.env, (std::vector<EnvVar>{{"A", "1"}, {"B", ""}}));
  EXPECT_EQ(spec.probe.path, "/healthz");
  EXPECT_EQ(spec.probe.period_seconds, 2);
  EXPECT_EQ(spec.cpu_limit, 0.5);
  EXPECT_EQ(spec.memory_limit, 64 << 20);
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(ServiceParser, AbsentFieldsTakeTheGivenDefaults) {
  const auto parsed = parse_services(with_spec("      containers: [{command: [app]}]\n"), "f.yaml",
                                     "/srv", {std::chrono::seconds{7}, 3});

  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->services[0].timeout.count(), 7);
  EXPECT_EQ(parsed->services[0].container_concurrency, 3);
  EXPECT_EQ(parsed->services[0].working_dir, "/srv");
}

TEST(ServiceParser, WorkingDirectoriesAreAbsolute) {
  const auto here = std::filesystem::current_path();
  for (const char* base : {"", ".", "./"}) {
    const auto parsed = parse_services(with_container("args: []"), "f.yaml", base);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->services[0].working_dir, here) << base;
  }
  const auto other = parse_services(with_container("workingDir: api/"), "f.yaml", "/srv");
  EXPECT_EQ(other->services[0].working_dir, "/srv/api");
}

TEST(ServiceParser, UnknownKeyGetsASuggestion) {
  EXPECT_EQ(verdict(with_spec("      timeoutSecond: 3\n      containers: [{command: [a]}]\n")),
            "f.yaml:8: unknown key `timeoutSecond` in `spec.template.spec`; did you mean "
            "`timeoutSeconds`?");
  EXPECT_EQ(verdict(with_container("comand: [x]")),
            "f.yaml:8: unknown key `comand` in `containers`; did you mean `command`?");
  EXPECT_EQ(verdict(with_spec("      containerz: [{command: [a]}]\n")),
            "f.yaml:8: unknown key `containerz` in `spec.template.spec`; did you mean "
            "`containers`?");
}

TEST(ServiceParser, WrongTypesAreNamedWithTheirLine) {
  EXPECT_EQ(verdict(with_spec("      timeoutSeconds: soon\n      containers: [{command: [a]}]\n")),
            "f.yaml:8: `timeoutSeconds` must be a whole number from 0 to 604800, not `soon`; write "
            "such a number");
  EXPECT_EQ(verdict(with_spec("      containers: 3\n")),
            "f.yaml:8: `containers` must be a list; begin each item with `- `");
  EXPECT_EQ(verdict(with_container("env: {A: b}")),
            "f.yaml:8: `env` must be a list; begin each item with `- `");
  EXPECT_EQ(verdict(with_container("args: [{a: b}]")),
            "f.yaml:8: `args` must be text, not a mapping; write one value");
  EXPECT_EQ(verdict("[1, 2]\n"),
            "f.yaml:1: `document` must be a mapping; write `key: value` lines, indented below it");
}

TEST(ServiceParser, ThePortsNameSetsTheProtocolOfTheApp) {
  for (const auto& [ports, h2c] :
       std::map<std::string, bool>{{"[{name: h2c, containerPort: 8080}]", true},
                                   {"[{containerPort: 8080, name: h2c, protocol: TCP}]", true},
                                   {"[{name: http1, containerPort: 8080}]", false},
                                   {"[{containerPort: 8080}]", false}}) {
    const auto parsed = parse_services(with_container("ports: " + ports), "f.yaml", "/srv");
    ASSERT_TRUE(parsed.has_value()) << parsed.error().problems.front().text();
    EXPECT_EQ(parsed->services.front().h2c, h2c) << ports;
    EXPECT_TRUE(parsed->warnings.empty()) << ports;
  }
}

TEST(ServiceParser, AnUnsupportedFieldThatMattersIsAnError) {
  EXPECT_EQ(verdict(with_container("env: [{name: A, valueFrom: {secretKeyRef: {}}}]")),
            "f.yaml:8: a ConfigMap or Secret is used without `name`; name the document");
  EXPECT_EQ(verdict(with_container("ports: [{name: grpc}]")),
            "f.yaml:8: unknown port name `grpc`; name it http1, or h2c for HTTP/2 in clear text");
  EXPECT_EQ(verdict(with_spec("      containers: [{command: [a]}, {command: [b]}]\n")),
            "f.yaml:8: `containers` has 2 items; write exactly one container per service");
  EXPECT_NE(verdict(with_spec("      containers: [{command: [a]}]\n") +
                    "  traffic: [{revisionName: shop-00001, percent: 50}]\n"),
            "accepted");
}

TEST(ServiceParser, EachFieldWithoutAMeaningHereIsOneWarning) {
  const auto parsed =
      parse_services(with_spec("      serviceAccountName: me\n      dnsPolicy: x\n"
                               "      containers: [{image: nginx, command: [a], lifecycle: {}}]\n"),
                     "f.yaml", "/srv");

  ASSERT_TRUE(parsed.has_value()) << parsed.error().problems.front().text();
  EXPECT_EQ(parsed->warnings,
            (std::vector<std::string>{
                "f.yaml:8: `serviceAccountName` has no effect on one machine",
                "f.yaml:9: `dnsPolicy` has no effect on one machine",
                "f.yaml:10: `lifecycle` has no effect on one machine",
                "f.yaml:10: `image` has no effect beside `command`, which is run"}));
}

TEST(ServiceParser, AnImageWithoutACommandIsRunInAContainer) {
  const auto read = [](const std::string& fields, const std::string& runtime) {
    return parse_services(with_spec("      containers: [{" + fields + "}]\n"), "f.yaml", "/srv",
                          {.container_runtime = runtime});
  };
  const auto problem = [&](const std::string& fields, const std::string& runtime) {
    const auto parsed = read(fields, runtime);
    return parsed ? std::string{"accepted"} : parsed.error().text();
  };
  const std::string there = "/bin/sh";

  const auto parsed = read("image: nginx, args: [a], volumeMounts: []", there);

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  const ServiceSpec& spec = parsed->services.front();
  EXPECT_EQ(spec.image, "nginx");
  EXPECT_EQ(spec.args, std::vector<std::string>{"a"});
  EXPECT_TRUE(spec.command.empty());
  EXPECT_TRUE(spec.working_dir.empty());
  EXPECT_EQ(spec.port_in_container(), 8080);
  EXPECT_TRUE(parsed->warnings.empty());
  EXPECT_EQ(problem("image: nginx", "nothing-of-that-name"),
            "f.yaml:8: an image is run by nothing-of-that-name, which is not in PATH; install it, "
            "or change container-runtime in config.yaml");
  EXPECT_EQ(
      problem("image: \"-v\"", there),
      "f.yaml:8: `-v` is not the name of an image; write it like docker.io/library/nginx:1.25");
  EXPECT_EQ(problem("image: nginx, workingDir: here", there),
            "f.yaml:8: `workingDir` is not absolute; write a path in the container");
}

TEST(ServiceParser, ReadsProbesOfEachKind) {
  const auto probe_of = [](const std::string& text) {
    const auto parsed = parse_services(with_container("readinessProbe: " + text), "f.yaml", "/srv");
    EXPECT_TRUE(parsed.has_value()) << parsed.error().problems.front().text();
    return parsed ? parsed->services.front().probe : ReadinessProbe{};
  };
  EXPECT_EQ(probe_of("{exec: {command: [test, -e, /tmp/ready]}}").command,
            (std::vector<std::string>{"test", "-e", "/tmp/ready"}));
  EXPECT_EQ(probe_of("{grpc: {port: 8080, service: shop}}").service, "shop");
  EXPECT_EQ(probe_of("{grpc: {port: 8080}}").kind, ProbeKind::grpc);
  EXPECT_EQ(verdict(with_container("readinessProbe: {exec: {}}")),
            "f.yaml:8: `exec` has no command; add `command: [program, argument]`");
  EXPECT_EQ(verdict(with_container("readinessProbe: {exec: {command: [a]}, tcpSocket: {}}")),
            "f.yaml:8: `readinessProbe` has several of httpGet, tcpSocket, grpc and exec; keep one "
            "of them");
}

TEST(ServiceParser, OtherKindsAreNamed) {
  EXPECT_EQ(
      verdict("apiVersion: apps/v1\nkind: Deployment\n"),
      "f.yaml:2: Deployment of apps/v1 cannot be run here; a file may hold only `kind: Service` of "
      "`apiVersion: serving.knative.dev/v1`, and ConfigMap and Secret of `v1`");
  EXPECT_EQ(verdict("kind: Service\n").substr(0, 45),
            "f.yaml:1: `apiVersion` or `kind` is missing; ");
}

TEST(ServiceParser, NamesMustBeDnsLabelsAndUnique) {
  std::string wrong = with_container("args: []");
  wrong.replace(wrong.find("shop"), 4, "Shop_1");
  EXPECT_EQ(verdict(wrong).substr(0, 42), "f.yaml:4: `Shop_1` is not a DNS label; use");

  wrong.replace(wrong.find("Shop_1"), 6, "sluice");
  EXPECT_EQ(
      verdict(wrong),
      "f.yaml:4: `sluice` cannot be the name of a service: sluice.localhost is the engine's own "
      "host; give the service another name");

  const std::string one = with_container("args: []");
  EXPECT_EQ(verdict(one + "---\n" + one), "f.yaml:12: two services are named `shop`; rename one");
}

TEST(ServiceParser, TheEnginesOwnHostBelongsToNoService) {
  for (const char* host : {"sluice.localhost", "Sluice.Localhost.", "sluice.localhost/shop"}) {
    EXPECT_EQ(verdict("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata:\n  name: a\n"
                      "  annotations: {sluice.dev/hosts: \"a.b, " +
                      std::string{host} +
                      "\"}\nspec:\n  template:\n    spec: {containers: [{command: [a]}]}\n"),
              "f.yaml:5: `sluice.localhost` is the engine's own host; give the service another "
              "host")
        << host;
  }
}

TEST(ServiceParser, OurAnnotationsAreChecked) {
  const auto annotated = [](const std::string& line) {
    return "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec:\n"
           "  template:\n    metadata:\n      annotations:\n        " +
           line + "\n    spec: {containers: [{command: [a]}]}\n";
  };
  EXPECT_EQ(verdict(annotated("sluice.dev/stop-grase: 3s")),
            "f.yaml:8: unknown annotation `sluice.dev/stop-grase`; did you mean "
            "`sluice.dev/stop-grace`?");
  EXPECT_EQ(verdict(annotated("sluice.dev/hosts: a.b")),
            "f.yaml:8: `sluice.dev/hosts` does not belong here; move it to metadata.annotations");
  EXPECT_EQ(verdict(annotated("sluice.dev/throttle: never")), "accepted");
  EXPECT_EQ(verdict(annotated("sluice.dev/throttle: always")),
            "f.yaml:8: `sluice.dev/throttle` is `always`; write never, or leave it out");
  EXPECT_EQ(verdict(annotated("sluice.dev/stop-grace: soon")),
            "f.yaml:8: `sluice.dev/stop-grace`: `soon` is not a duration; write it like 10s, 500ms "
            "or 1h30m");
  EXPECT_EQ(verdict(annotated("sluice.dev/port: 70000")),
            "f.yaml:8: `sluice.dev/port` must be a whole number from 1 to 65535, not `70000`; "
            "write such a number");
  EXPECT_EQ(verdict(annotated("autoscaling.knative.dev/invented: x")), "accepted");
  EXPECT_EQ(verdict(annotated("autoscaling.knative.dev/initial-scale: '0'")), "accepted");
  EXPECT_EQ(verdict(annotated("autoscaling.knative.dev/target: x")),
            "f.yaml:8: autoscaling.knative.dev/target \"x\" is not a number; accepted: a number of "
            "0.01 or more");
  EXPECT_EQ(verdict(annotated("autoscaling.sluice.dev/burst-capacity-hysteresis: 20")), "accepted");
}

TEST(ServiceParser, BrokenTextIsRefusedWithItsLine) {
  EXPECT_EQ(verdict(std::string("a: b\nc: \0d\n", 11)),
            "f.yaml:2: NUL byte; this is not a text file; give a YAML file");
  EXPECT_EQ(verdict(with_container("args: [\"a\\0b\"]")),
            "f.yaml:8: `args` contains a NUL byte; remove it");
  EXPECT_EQ(verdict("a: b\nc: \xE4\n"), "f.yaml:2: not UTF-8; save the file as UTF-8");
  EXPECT_EQ(verdict("a: [b\n").substr(0, 9), "f.yaml:2:");
  EXPECT_EQ(verdict("{name: a, name: b}\n").substr(0, 26), "f.yaml:1: `name` is set tw");
  EXPECT_EQ(verdict(""), "f.yaml:1: no service in it; write a serving.knative.dev/v1 Service");
  EXPECT_EQ(verdict(std::string((5 << 20), ' ')),
            "f.yaml is larger than 4 MiB; split it into several files");
}

TEST(ServiceParser, AliasBombsAreRefusedBeforeTheyAreExpanded) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "[";
  EXPECT_NE(verdict(deep), "accepted");
  std::string indented;
  for (int i = 0; i < 100; ++i) indented += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_NE(verdict(indented).find("nested deeper than 64 levels"), std::string::npos);

  std::string laughs = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string name = std::to_string(i);
    const std::string before = std::to_string(i - 1);
    laughs.append("a").append(name).append(": &a").append(name);
    laughs.append(" [*a").append(before).append(", *a").append(before).append("]\n");
  }
  EXPECT_NE(verdict(laughs), "accepted");
  EXPECT_NE(verdict("&a [*a]\n"), "accepted");

  std::string many;
  for (int i = 0; i < 210'000; ++i) many += "- a\n";
  EXPECT_NE(verdict(many).find("more than 200000 values"), std::string::npos);
}

TEST(ServiceParser, AliasesWork) {
  EXPECT_EQ(verdict(with_container("args: &x [a], env: [{name: A, value: &v b}, {name: C, value: "
                                   "*v}]")),
            "accepted");
}

TEST(ServiceParser, ReportsAtMostTwentyProblems) {
  std::string yaml = with_spec("      containers: [{command: [a]}]\n");
  for (int i = 0; i < 50; ++i) yaml += "      unknown" + std::to_string(i) + ": x\n";

  EXPECT_EQ(parse_services(yaml, "f.yaml", "/").error().problems.size(), 20U);
}

TEST(EngineSettings, ReadsEveryKey) {
  const auto settings = parse_engine_settings(R"(
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
)",
                                              "c.yaml");

  ASSERT_TRUE(settings.has_value()) << settings.error().front().text();
  EXPECT_EQ(settings->http, "0.0.0.0:9000");
  EXPECT_EQ(settings->max_replicas, 5);
  EXPECT_EQ(settings->stop_timeout, Duration{std::chrono::seconds{3}});
  EXPECT_FALSE(settings->cold_start_header);
  EXPECT_EQ(settings->autoscaler.at("stable-window"), "30s");
  EXPECT_EQ(settings->autoscaler.at("allow-zero-initial-scale"), "false");
  EXPECT_FALSE(settings->autoscaler.contains("initial-scale"));
  EXPECT_EQ(settings->defaults.timeout.count(), 60);
  EXPECT_FALSE(settings->groups_yaml.empty());
  EXPECT_EQ(settings->queue.bytes, 3 << 20);
  EXPECT_EQ(settings->limits.header_bytes, 1 << 20);
  EXPECT_EQ(settings->limits.connections, 7);
  EXPECT_EQ(settings->limits.write_timeout, Duration{std::chrono::seconds{5}});
  EXPECT_EQ(settings->origins.at("queue.depth"), "c.yaml:11");
}

TEST(EngineSettings, UnknownAndWrongKeysAreNamed) {
  const auto first = [](const std::string& text) {
    return parse_engine_settings(text, "c.yaml").error().front().text();
  };
  EXPECT_EQ(first("max-replica: 1\n"),
            "c.yaml:1: unknown key `max-replica` in `config`; did you mean `max-replicas`?");
  EXPECT_EQ(first("log-level: loud\n"),
            "c.yaml:1: `log-level` is `loud`; use one of debug, info, warn, error");
  EXPECT_EQ(first("limits: {header-bytes: 100}\n"),
            "c.yaml:1: `header-bytes` is `100`; use 1Ki to 16Mi");
  EXPECT_EQ(first("queue: {bytes: many}\n").substr(0, 24), "c.yaml:1: `bytes`: `many");
  const auto all = parse_engine_settings(
                       "http: 127.0.0.1:x\nmax-replicas: 0\ndashboard:\n  hosts: [':::bad']\n"
                       "max-replica: 5\n",
                       "c.yaml")
                       .error();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].text(), "c.yaml:1: `http` is not an address; write it like 127.0.0.1:8080");
  EXPECT_TRUE(all[1].what.starts_with("c.yaml:2: `max-replicas`"));
  EXPECT_TRUE(all[2].what.starts_with("c.yaml:4: `:::bad` is not a host"));
  EXPECT_TRUE(all[3].what.starts_with("c.yaml:5: unknown key `max-replica`"));
}

TEST(EngineSettings, OpenTheDashboardByName) {
  const auto read = [](const std::string& text) { return parse_engine_settings(text, "c.yaml"); };
  EXPECT_FALSE(read("http: 127.0.0.1:1\n")->dashboard.any_peer());
  EXPECT_FALSE(read("dashboard: {peers: loopback}\n")->dashboard.any_peer());
  const auto opened = read("dashboard:\n  peers: any\n  hosts: [box.example.com, box]\n");
  EXPECT_TRUE(opened->dashboard.any_peer());
  EXPECT_EQ(opened->dashboard.hosts, (std::vector<std::string>{"box.example.com", "box"}));
  EXPECT_EQ(opened->origins.at("dashboard.hosts"), "c.yaml:3");
  const auto first = [&](const std::string& text) { return read(text).error().front().text(); };
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

TEST(ServiceParser, MisspeltScalingAnnotationsGetASuggestion) {
  const auto parsed = parse_services(R"(apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: shop}
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/targt: "5"
        autoscaling.knative.dev/class: hpa.autoscaling.knative.dev
        autoscaling.knative.dev/maxScale: "5"
    spec: {containers: [{command: [app]}]}
)",
                                     "f.yaml", "/srv");
  ASSERT_TRUE(parsed);

  EXPECT_EQ(
      parsed->warnings,
      (std::vector<std::string>{
          "f.yaml:9: `autoscaling.knative.dev/class: hpa.autoscaling.knative.dev` has no "
          "effect on one machine; services are scaled by concurrency or rps",
          "f.yaml:8: `autoscaling.knative.dev/targt` is not a key of the autoscaler and has no "
          "effect; did you mean `autoscaling.knative.dev/target`?"}));
}

// Each key of the table, set to another value than its default, is read back by the parser.
TEST(EngineSettings, EveryKeyOfTheTableIsTakenByTheParser) {
  const std::map<std::string, std::string> others{
      {"http", "127.0.0.1:1"},
      {"log-level", "warn"},
      {"log-format", "json"},
      {"container-runtime", "docker"},
      {"cold-start-header", "false"},
      {"groups", "[a]"},
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
    const auto read = parse_engine_settings(text, "c.yaml");
    ASSERT_TRUE(read.has_value()) << read.error().front().text();
    for (const SettingLine& now : setting_lines(*read)) {
      EXPECT_EQ(now.value == now.fallback, now.key != line.key) << text << " " << now.key;
      EXPECT_EQ(now.origin.empty(), now.key != line.key) << text << " " << now.key;
    }
  }
}

TEST(EngineSettings, MisspeltAutoscalerKeyIsRefusedAndTheExampleOfAConfigMapPasses) {
  const auto verdict_of = [](const std::string& text) {
    const auto settings = parse_engine_settings(text, "c.yaml");
    return settings ? std::string{"accepted"} : settings.error().front().text();
  };

  EXPECT_EQ(verdict_of("autoscaler: {stable-window: 30s, _example: text}"), "accepted");
  EXPECT_EQ(verdict_of("autoscaler: {stabel-window: 30s}"),
            "c.yaml:1: unknown key `stabel-window` in `autoscaler`; did you mean "
            "`stable-window`?");
}

}  // namespace
}  // namespace sluice::local
