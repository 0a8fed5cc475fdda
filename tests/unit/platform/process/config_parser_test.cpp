// What stands beside a Service, and what a Service makes of it.

#include <gtest/gtest.h>

#include "platform/process/service_spec.h"
#include <string>

namespace sluice::local {
namespace {

const std::string kConfig = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {COLOUR: blue, app.yaml: "a: 1\n"}
binaryData: {blob: AAH/}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
type: Opaque
data: {token: aHVudGVyMg==}
stringData: {password: "$PORT"}
---
)";

/// A service behind 13 lines of kConfig; `spec` is its template's, at line 20.
std::string service(const std::string& spec) {
  return "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: shop}\nspec:\n"
         "  template:\n    spec:\n" +
         spec;
}

std::string container(const std::string& fields) {
  return service("      containers: [{command: [app], " + fields + "}]\n");
}

Result<ParsedFile, RefusedFile> parsed(const std::string& yaml) {
  return parse_services(yaml, "f.yaml", "/srv");
}

/// The first problem, or the warnings of a file that is accepted.
std::string verdict(const std::string& yaml) {
  const auto file = parsed(yaml);
  if (!file) return file.error().problems.front().text();
  std::string warnings;
  for (const std::string& warning : file->warnings) warnings += warning + "\n";
  return warnings;
}

TEST(ConfigDocuments, AServiceTakesWhatItUsesFromItsFile) {
  const auto file = parsed(kConfig + container("env: [{name: A, valueFrom: {secretKeyRef: "
                                               "{name: keys, key: token}}}], envFrom: [{prefix: "
                                               "S_, configMapRef: {name: settings}}]"));

  ASSERT_TRUE(file) << file.error().text();
  const ServiceSpec& spec = file->services.at(0);
  const ConfigName keys{ConfigKind::secret, "keys"};
  const ConfigName settings{ConfigKind::config_map, "settings"};
  EXPECT_EQ(spec.env, (std::vector<EnvVar>{{"A", "", ConfigKey{keys, "token", false}}}));
  EXPECT_EQ(spec.env_from, (std::vector<EnvFrom>{{settings, "S_", false}}));
  EXPECT_EQ(spec.config.at(keys), (ConfigData{{"password", "$PORT"}, {"token", "hunter2"}}));
  EXPECT_EQ(spec.config.at(settings),
            (ConfigData{
                {"COLOUR", "blue"}, {"app.yaml", "a: 1\n"}, {"blob", std::string("\0\1\xFF", 3)}}));
  EXPECT_TRUE(file->warnings.empty());
}

TEST(ConfigDocuments, MayFollowTheServiceAndBeGivenTwice) {
  const std::string uses =
      container("envFrom: [{secretRef: {name: keys}}, {configMapRef: {name: settings}}]");
  EXPECT_EQ(verdict(uses + "---\n" + kConfig), "");
  EXPECT_EQ(verdict(kConfig + kConfig + uses), "");
  std::string other = kConfig;
  other.replace(other.find("blue"), 4, "red");
  EXPECT_EQ(verdict(kConfig + other + uses),
            "f.yaml:14: ConfigMap settings is defined twice, with different data; rename one");
}

TEST(ConfigDocuments, WhatIsMissingIsNamedUnlessItIsOptional) {
  const auto from = [](const std::string& reference) {
    return container("env: [{name: A, valueFrom: {configMapKeyRef: {" + reference + "}}}]");
  };
  EXPECT_EQ(verdict(from("name: none, key: x")),
            "f.yaml:7: ConfigMap none is not in this file; add its document to the file, or set "
            "`optional: true`");
  EXPECT_EQ(verdict(kConfig + from("name: settings, key: COLOR")),
            "f.yaml:20: ConfigMap settings has no key `COLOR`; did you mean `COLOUR`?");
  EXPECT_EQ(verdict(from("name: none, key: x, optional: true")), "");
  EXPECT_EQ(verdict(container("envFrom: [{secretRef: {name: none}}]")),
            "f.yaml:7: Secret none is not in this file; add its document to the file, or set "
            "`optional: true`");
  EXPECT_EQ(verdict(container("env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]")),
            "f.yaml:7: `fieldRef` cannot be resolved: there is no pod here; write the value with "
            "`value`");
}

TEST(ConfigDocuments, WrongOnesAreNamedWithTheirLine) {
  const auto secret = [](const std::string& data) {
    return "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" + data + "\n---\n" +
           container("args: []");
  };
  EXPECT_EQ(verdict(secret("data: {a: '!'}")),
            "f.yaml:4: the value of `a` is not base64; encode it, or write it in clear text under "
            "`stringData` of a Secret or `data` of a ConfigMap");
  EXPECT_EQ(verdict(secret("stringData: {../a: x}")),
            "f.yaml:4: `../a` is not a valid key; use 1 to 253 letters, digits, -, _ and .");
  EXPECT_EQ(verdict(secret("binaryData: {}")),
            "f.yaml:4: `binaryData` is not a key of a Secret; use `data` for base64");
  EXPECT_EQ(verdict(secret("stringData: {a: x}")),
            "f.yaml:1: Secret a has no effect: no service of this file uses it\n");
  EXPECT_EQ(verdict(kConfig),
            "f.yaml:1: no service in it; write the Service that uses its documents into the same "
            "file");
}

TEST(ConfigDocuments, AVariableHoldsNoNul) {
  EXPECT_EQ(verdict(kConfig + container("env: [{name: A, valueFrom: {configMapKeyRef: {name: "
                                        "settings, key: blob}}}]")),
            "f.yaml:20: key `blob` of ConfigMap settings has a NUL byte, which no variable can "
            "hold; correct it, or remove the variable");
}

TEST(ServiceParser, ErrorsAndWarningsComeTogether) {
  const auto file =
      parsed(service("      serviceAccountName: me\n      timeoutSeconds: soon\n"
                     "      containers: [{comand: [a], lifecycle: {}}]\n"));

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().text(),
            "f.yaml:8: `timeoutSeconds` must be a whole number from 0 to 604800, not `soon`; write "
            "such a number\n"
            "f.yaml:9: unknown key `comand` in `containers`; did you mean `command`?\n"
            "warning: f.yaml:7: `serviceAccountName` has no effect on one machine\n"
            "warning: f.yaml:9: `lifecycle` has no effect on one machine");
}

TEST(Volumes, AreReadWithTheirMounts) {
  const auto file = parsed(kConfig + service(R"(      containers:
        - command: [app]
          volumeMounts:
            - {name: all, mountPath: /etc/app/, readOnly: true}
            - {name: work, mountPath: /work, subPath: a/b}
      volumes:
        - name: all
          projected:
            defaultMode: 0440
            sources:
              - configMap: {name: settings, items: [{key: app.yaml, path: conf/app.yaml}]}
              - secret: {name: keys}
        - {name: work, emptyDir: {medium: Memory}}
)"));

  ASSERT_TRUE(file) << file.error().text();
  const ServiceSpec& spec = file->services.at(0);
  EXPECT_EQ(spec.volumes.at(0).mode, 0440U);
  EXPECT_EQ(spec.volumes.at(0).sources.at(0).items,
            (std::map<std::string, std::string>{{"app.yaml", "conf/app.yaml"}}));
  EXPECT_TRUE(spec.volumes.at(1).sources.empty());
  EXPECT_EQ(spec.mounts,
            (std::vector<VolumeMount>{{"all", "/etc/app", ""}, {"work", "/work", "a/b"}}));
  EXPECT_EQ(file->warnings.at(0),
            "f.yaml:23: `/etc/app` is not mounted on one machine: each replica has volume all in a "
            "directory of its own, whose path takes the place of `/etc/app` in command, args and "
            "env");
}

TEST(Volumes, WrongOnesAreNamed) {
  const auto with = [](const std::string& volume, const std::string& mount) {
    return kConfig +
           service("      volumes: [" + volume +
                   "]\n      containers: [{command: [a], volumeMounts: [" + mount + "]}]\n");
  };
  EXPECT_EQ(verdict(with("{name: a, emptyDir: {}}", "{name: b, mountPath: /x}")),
            "f.yaml:21: no volume is named `b`; add it under spec.template.spec.volumes");
  EXPECT_EQ(verdict(with("{name: a, emptyDir: {}}", "{name: a, mountPath: x}")),
            "f.yaml:21: a mount has no `mountPath`; give it an absolute path, not /");
  EXPECT_EQ(verdict(with("{name: a, configMap: {name: settings, items: [{key: COLOUR, path: "
                         "../x}]}}",
                         "")),
            "f.yaml:20: an item of a volume has no `key`, or no `path` below the volume; give each "
            "item both; the path is relative, without `..`");
  EXPECT_EQ(verdict(with("{name: ../a, emptyDir: {}}", "")),
            "f.yaml:20: `../a` cannot name a volume; give it a `name` of 1 to 63 of a-z, 0-9 and "
            "-");
  EXPECT_EQ(verdict(container("args: []") + "      volumes: [{name: a, hostPath: {path: /x}}]\n"),
            "f.yaml:8: `hostPath` has no effect on one machine\n");
}

TEST(InitContainers, AreReadInTheirOrder) {
  const auto file = parsed(service(R"(      initContainers:
        - {name: migrate, image: x, command: [sh, -c], args: ["true"], env: [{name: A, value: b}]}
        - {command: [second], workingDir: sub}
      containers: [{command: [app]}]
)"));

  ASSERT_TRUE(file) << file.error().text();
  const auto& init = file->services.at(0).init;
  ASSERT_EQ(init.size(), 2U);
  EXPECT_EQ(init[0].name, "migrate");
  EXPECT_EQ(init[0].args, (std::vector<std::string>{"true"}));
  EXPECT_EQ(init[1].name, "init-2");
  EXPECT_EQ(init[1].working_dir, "/srv/sub");
  EXPECT_EQ(verdict(service("      initContainers: [{name: a, restartPolicy: Always, command: "
                            "[x]}]\n      containers: [{command: [app]}]\n")),
            "f.yaml:7: an init container that keeps running cannot be run here; remove "
            "`restartPolicy`, or make it a service of its own");
}

TEST(HealthProbes, AreReadAndThoseWithoutEffectAreNamed) {
  const auto file = parsed(container(
      "livenessProbe: {httpGet: {path: /live, port: 8080}, failureThreshold: 2}, startupProbe: "
      "{tcpSocket: {}, periodSeconds: 1, initialDelaySeconds: 3}"));

  ASSERT_TRUE(file) << file.error().text();
  const ServiceSpec& spec = file->services.at(0);
  ASSERT_TRUE(spec.liveness && spec.startup);
  EXPECT_EQ(spec.liveness->question.path, "/live");
  EXPECT_EQ(spec.liveness->question.period_seconds, 10);
  EXPECT_EQ(spec.liveness->failure_threshold, 2);
  EXPECT_EQ(spec.startup->question.kind, ProbeKind::tcp);
  EXPECT_EQ(spec.startup->initial_delay_seconds, 3);
  EXPECT_EQ(spec.startup->failure_threshold, 3);
  const auto asked =
      parsed(service("      containers: [{command: [a], livenessProbe: {exec: "
                     "{command: [b, c]}}, startupProbe: {grpc: {service: s}}}]\n"));
  ASSERT_TRUE(asked) << asked.error().text();
  EXPECT_EQ(asked->services.at(0).liveness->question.command, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(asked->services.at(0).startup->question.kind, ProbeKind::grpc);
  EXPECT_EQ(verdict(container("ports: [{containerPort: 80}], livenessProbe: {tcpSocket: {port: "
                              "9090}}")),
            "f.yaml:7: `livenessProbe` on port 9090 has no effect on one machine; only the port "
            "that serves is asked\n");
  EXPECT_EQ(verdict(container("livenessProbe: {periodSeconds: 3}")),
            "f.yaml:7: `livenessProbe` has no check; give it httpGet, tcpSocket, grpc or exec");
}

TEST(Probes, AreOfThePortThatServes) {
  const auto with = [](const std::string& port) {
    return container("readinessProbe: {httpGet: {path: /up, port: " + port + "}}");
  };
  EXPECT_EQ(verdict(with("1234")),
            "f.yaml:7: `readinessProbe` on port 1234 has no effect on one machine; only the port "
            "that serves is asked\n");
  EXPECT_EQ(parsed(with("1234"))->services.at(0).probe, ReadinessProbe{});
  EXPECT_EQ(parsed(with("http1"))->services.at(0).probe.path, "/up");
  EXPECT_EQ(verdict(with("abc")),
            "f.yaml:7: `readinessProbe` names port `abc`, which is not there; remove the port, or "
            "write 8080 or http1");
}

TEST(Lists, HaveItemsThatAreDocuments) {
  const std::string item =
      "- apiVersion: serving.knative.dev/v1\n  kind: Service\n"
      "  metadata: {name: a}\n  spec: {template: {spec: {containers: [{command: [x]}]}}}\n";
  const std::string list =
      "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: \"\"}\nitems:\n" + item;
  EXPECT_EQ(parsed(list)->services.at(0).name, "a");
  EXPECT_EQ(verdict(list + item), "f.yaml:11: two services are named `a`; rename one");
}

TEST(ToYaml, ReadsBackTheDocumentsBesideAService) {
  const auto file = parsed(kConfig + service(R"(      initContainers:
        - command: [migrate]
          env: [{name: P, valueFrom: {secretKeyRef: {name: keys, key: password, optional: true}}}]
          volumeMounts: [{name: one, mountPath: /one}]
      containers:
        - command: [app]
          envFrom: [{prefix: X_, configMapRef: {name: settings}}, {secretRef: {name: none, optional: true}}]
          livenessProbe: {httpGet: {path: /live, httpHeaders: [{name: A, value: hunter3}]}, periodSeconds: 3}
          startupProbe: {tcpSocket: {}, failureThreshold: 30}
          volumeMounts: [{name: all, mountPath: /etc/app}, {name: work, mountPath: /w, subPath: a}]
      volumes:
        - {name: all, projected: {sources: [{configMap: {name: settings}}, {secret: {name: keys}}]}}
        - {name: one, secret: {secretName: keys, defaultMode: 0440, items: [{key: token, path: t}]}}
        - {name: work, emptyDir: {}}
)"));
  ASSERT_TRUE(file) << file.error().text();
  const ServiceSpec& spec = file->services.at(0);

  const std::string yaml = to_yaml(spec);
  const auto again = parse_services(yaml, "x.yaml", "/elsewhere");

  ASSERT_TRUE(again) << again.error().text() << yaml;
  EXPECT_EQ(again->services.at(0), spec) << yaml;
  EXPECT_EQ(to_yaml(again->services.at(0)), yaml);
  EXPECT_EQ(template_hash(again->services.at(0)), template_hash(spec));

  const std::string without = to_yaml_without_values(spec);
  for (const char* value : {"hunter", "blue", "aHVudGVy", "AAH/", "a: 1"})
    EXPECT_EQ(without.find(value), std::string::npos) << value << "\n" << without;
  EXPECT_NE(without.find("token"), std::string::npos) << without;
  EXPECT_TRUE(parse_services(without, "x.yaml", "/elsewhere")) << without;
}

TEST(TemplateHash, ChangesWithTheDocumentsBesideAService) {
  const std::string text = kConfig + service(R"(      initContainers: [{command: [migrate]}]
      containers:
        - command: [app]
          env: [{name: A, valueFrom: {secretKeyRef: {name: keys, key: password}}}]
          envFrom: [{configMapRef: {name: settings}}]
          livenessProbe: {httpGet: {path: /live}, periodSeconds: 7}
          volumeMounts: [{name: all, mountPath: /etc/app}]
      volumes: [{name: all, configMap: {name: settings}}]
)");
  const auto hash_of = [](const std::string& yaml) {
    const auto file = parsed(yaml);
    return file ? template_hash(file->services.at(0)) : file.error().text();
  };
  const std::string before = hash_of(text);
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"blue", "red"},
           {"$PORT", "other"},
           {"[migrate]", "[migrate, x]"},
           {"key: password", "key: token"},
           {"{configMapRef", "{prefix: X, configMapRef"},
           {"/live", "/alive"},
           {"periodSeconds: 7", "periodSeconds: 8"},
           {"mountPath: /etc/app", "mountPath: /etc/b"},
           {"configMap: {name: settings}", "configMap: {name: settings, defaultMode: 0444}"}}) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const std::string after = hash_of(changed);
    EXPECT_EQ(after.size(), 16U) << after;
    EXPECT_NE(after, before) << from;
  }
}

}  // namespace
}  // namespace sluice::local
