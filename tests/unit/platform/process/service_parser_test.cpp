#include <gtest/gtest.h>

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
  EXPECT_EQ(verdict(annotated("autoscaling.knative.dev/target: nan")),
            "f.yaml:8: `autoscaling.knative.dev/target: nan` is not finite; give a number");
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

/// A service whose template has this annotation, on line 7.
std::string with_annotation(const std::string& annotation) {
  return "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: shop}\nspec:\n"
         "  template:\n    metadata: {annotations: {\n" +
         annotation + "}}\n    spec: {containers: [{command: [app]}]}\n";
}

TEST(ServiceParser, ReadsWhereReplicasMayRun) {
  const auto parsed = parse_services(
      with_annotation("placement.sluice.dev/clusters: 'fast, any', placement.sluice.dev/pin: slow"),
      "f.yaml", "/srv");

  ASSERT_TRUE(parsed) << parsed.error().text();
  const ServiceSpec& spec = parsed->services.at(0);
  EXPECT_EQ(spec.placement.clusters, std::vector<std::string>{"fast"});
  EXPECT_TRUE(spec.placement.any);
  EXPECT_EQ(spec.placement.pin, "slow");
  EXPECT_EQ(parse_services(to_yaml(spec), "f.yaml", "/srv")->services.at(0), spec);
}

TEST(ServiceParser, WrongPlacementAnnotationsAreErrorsWithTheirLine) {
  EXPECT_EQ(verdict(with_annotation("placement.sluice.dev/movable: perhaps")),
            "f.yaml:7: `placement.sluice.dev/movable` is `perhaps`; write true or false");
  EXPECT_EQ(verdict(with_annotation("placement.sluice.dev/max-per-nod: '1'")),
            "f.yaml:7: unknown annotation `placement.sluice.dev/max-per-nod`; did you mean "
            "`placement.sluice.dev/max-per-node`?");
}

// Goal (E73): a key that stands on the Service, where nothing reads it, is not passed over.
TEST(ServiceParser, PlacementAnnotationsBelongToTheTemplate) {
  const auto on_service = [](const std::string& annotation) {
    return verdict(
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata:\n  name: shop\n"
        "  annotations:\n    " +
        annotation + "\nspec: {template: {spec: {containers: [{command: [app]}]}}}\n");
  };

  EXPECT_EQ(on_service("placement.sluice.dev/pin: fast"),
            "f.yaml:6: `placement.sluice.dev/pin` does not belong here; write "
            "`placement.sluice.dev/pin` under spec.template.metadata.annotations");
  EXPECT_EQ(on_service("placement.sluice.dev/movabel: 'true'"),
            "f.yaml:6: `placement.sluice.dev/movabel` does not belong here; write "
            "`placement.sluice.dev/movable` under spec.template.metadata.annotations");
}

}  // namespace
}  // namespace sluice::local
