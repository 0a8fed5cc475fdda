#include "platform/process/service_spec.h"

#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include "platform/process/engine_settings.h"
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

namespace sluice::local {
namespace {

const Variables kVariables{20001, "app", "app-00002"};

TEST(Expansion, ReplacesThreeNamesInThreeForms) {
  EXPECT_EQ(expand_variables("$PORT ${PORT} $(PORT)", kVariables), "20001 20001 20001");
  EXPECT_EQ(expand_variables("--s=$K_SERVICE/$K_REVISION!", kVariables), "--s=app/app-00002!");
}

TEST(Expansion, LeavesEverythingElse) {
  for (const char* text :
       {"$HOME", "$PORTS", "${PORT", "$(PORT}", "${}", "$", "a$ b", "$(date)", "`x`", "${PORT:-1}"})
    EXPECT_EQ(expand_variables(text, kVariables), text);
}

TEST(Expansion, DoubledDollarIsOne) {
  EXPECT_EQ(expand_variables("$$PORT $$$PORT $$$$", kVariables), "$PORT $20001 $$");
}

TEST(Expansion, ReplacesOtherVariablesAsAClusterDoes) {
  const Variables variables{20001, "app", "app-00002", {{"A", "aa"}, {"b.c-d", "x"}}};
  EXPECT_EQ(expand_variables("$(A)-$(b.c-d)-$(PORT)", variables), "aa-x-20001");
  EXPECT_EQ(expand_variables("$A ${A} $$(A) $(B) ${b.c-d}", variables),
            "$A ${A} $(A) $(B) ${b.c-d}");
}

TEST(FindProgram, NamesTheMissingCommandAndTheFix) {
  const auto found = find_program("pyhton3", "/usr/bin:/bin", "/");

  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().text(),
            "command not found: pyhton3; looked in PATH; fix the name or give a full path");
}

TEST(FindProgram, NamesTheDirectoryOfARelativePathOnly) {
  EXPECT_EQ(find_program("no/such/program", "", "/srv").error().text(),
            "command not found: no/such/program; fix the path; it is relative to /srv");
  EXPECT_EQ(find_program("/no/such/program", "", "/srv").error().text(),
            "command not found: /no/such/program; fix the path");
}

TEST(FindProgram, LooksInPathAndTakesPathsRelativeToTheDirectory) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "tool") << "#!/bin/true\n";
  EXPECT_FALSE(find_program("./tool", "", directory.path()).has_value());
  std::filesystem::permissions(directory.path() / "tool", std::filesystem::perms::owner_all);

  EXPECT_EQ(*find_program("./tool", "", directory.path()), directory.path() / "tool");
  EXPECT_EQ(*find_program("tool", "/nowhere:" + directory.path().string(), "/"),
            directory.path() / "tool");
  EXPECT_FALSE(find_program("", "/bin", "/").has_value());
}

TEST(ReadSpecFile, RefusesAHugeFileWithoutReadingIt) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "huge.yaml";
  std::ofstream(path) << "a: b\n";
  std::filesystem::resize_file(path, std::uintmax_t{50} << 20);

  const auto text = read_spec_file(path);

  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().what, path.string() + " is larger than 4 MiB");
}

// As apply -f <(command) gives one.
TEST(ReadSpecFile, ReadsANamedPipeWhereThatIsAskedFor) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(read_spec_file(path).has_value());
  {
    const std::jthread writer{[&path] { std::ofstream{path} << "a: b\n"; }};
    EXPECT_EQ(*read_spec_file(path, NamedPipes::read), "a: b\n");
  }
}

TEST(ReadSpecFile, NamesTheReason) {
  EXPECT_EQ(read_spec_file("/nowhere/a.yaml").error().what,
            "cannot read /nowhere/a.yaml: No such file or directory");
  EXPECT_FALSE(read_spec_file("/dev/zero").has_value());
  EXPECT_FALSE(read_spec_file("/").has_value());
}

CommandForm form() {
  CommandForm form;
  form.command = {"python3", "-m", "http.server", "$PORT"};
  form.env = {{"EMPTY", ""}, {"TRUE", "true"}, {"LINES", "a\n\"b\"\t: #c"}, {"NULL", "~"}};
  form.cwd = "/srv/app dir";
  form.memory = 64 << 20;
  form.cpu = 0.5;
  return form;
}

// `key=value` of the annotations, in order.
std::string annotations_of(const ServiceSpec& spec) {
  std::string all;
  for (const auto& [key, value] : spec.template_annotations) {
    all += (all.empty() ? "" : " ") + key.substr(key.find('/') + 1) + "=" + value;
  }
  return all;
}

TEST(CommandSpec, HoldsTheFlagsThatWereGiven) {
  CommandForm all = form();
  all.target = 2.5;
  all.min = 1;
  all.max = 3;
  all.window = std::chrono::seconds{15};
  EXPECT_EQ(annotations_of(command_spec(all)), "max-scale=3 min-scale=1 target=2.5 window=15s");
  EXPECT_EQ(annotations_of(command_spec(form())), "");
}

TEST(CommandSpec, TakesFromTheSettingsWhatHasNoFlag) {
  const auto completed = [](CommandForm form, EngineSettings settings) {
    ServiceSpec spec = command_spec(form);
    complete_command(spec, form.concurrency.has_value(), settings);
    return spec;
  };
  EXPECT_EQ(annotations_of(completed(form(), {})), "max-scale=8 target=10");
  CommandForm flags = form();
  flags.target = 3;
  flags.min = 20;
  flags.concurrency = 2;
  EXPECT_EQ(annotations_of(completed(flags, {})), "max-scale=20 min-scale=20 target=3");

  EngineSettings settings;
  settings.defaults = {.timeout = std::chrono::seconds{7}, .container_concurrency = 5};
  settings.autoscaler["container-concurrency-target-default"] = "50";
  settings.autoscaler["max-scale"] = "4";
  EXPECT_EQ(annotations_of(completed(form(), settings)), "");
  EXPECT_EQ(completed(form(), settings).container_concurrency, 5);
  EXPECT_EQ(completed(form(), settings).timeout, std::chrono::seconds{7});
  EXPECT_EQ(annotations_of(completed(flags, settings)), "min-scale=20 target=3");
  EXPECT_EQ(completed(flags, settings).container_concurrency, 2);
}

TEST(CommandSpec, FixedPortMeansOneReplica) {
  CommandForm fixed = form();
  fixed.port = 3000;

  const ServiceSpec spec = command_spec(fixed);

  EXPECT_EQ(spec.fixed_port, 3000);
  EXPECT_EQ(spec.template_annotations.at("autoscaling.knative.dev/max-scale"), "1");
}

TEST(ToYaml, ReadsBackTheSame) {
  ServiceSpec spec = command_spec(form());
  spec.annotations = {{"sluice.dev/hosts", "shop.example.com, localhost/shop"}};
  spec.hosts = {{"shop.example.com", ""}, {"localhost", "/shop"}};
  spec.args = {"", "- x", "null", "\xC3\xA4"};
  spec.h2c = true;
  spec.container_port = 8080;
  spec.probe.kind = ProbeKind::http;
  spec.probe.path = "/healthz?full=1";
  spec.probe.headers = {{"X-A", "b: c"}};
  spec.probe.period_seconds = 5;
  spec.response_start_timeout = std::chrono::seconds{7};

  const std::string yaml = to_yaml(spec);
  const auto parsed = parse_services(yaml, "x.yaml", "/elsewhere");

  ASSERT_TRUE(parsed.has_value()) << parsed.error().problems.front().text() << "\n" << yaml;
  ASSERT_EQ(parsed->services.size(), 1U);
  EXPECT_EQ(parsed->services.front(), spec) << yaml;
  EXPECT_EQ(to_yaml(parsed->services.front()), yaml);
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(ToYaml, ReadsBackAnImageAndItsProbes) {
  CommandForm image = form();
  image.image = "docker.io/library/nginx:1.25";
  image.command = {"--quiet"};
  image.port = 9000;
  ServiceSpec spec = command_spec(image);
  spec.probe.kind = ProbeKind::exec;
  spec.probe.command = {"test", "-e", "/tmp/ready"};
  spec.liveness.emplace();
  spec.liveness->question.kind = ProbeKind::grpc;
  spec.liveness->question.service = "shop";

  const std::string yaml = to_yaml(spec);
  const auto parsed = parse_services(yaml, "x.yaml", "/srv", {.container_runtime = "/bin/sh"});

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text() << "\n" << yaml;
  EXPECT_EQ(parsed->services.front(), spec) << yaml;
  EXPECT_EQ(spec.container_port, 9000);
  EXPECT_FALSE(spec.template_annotations.contains("autoscaling.knative.dev/max-scale"));
}

TEST(ToYaml, OmitsValuesForReadersWithoutPermission) {
  ServiceSpec spec = command_spec(form());
  spec.env = {{"DB_PASSWORD", "hunter2"}};
  spec.probe.kind = ProbeKind::http;
  spec.probe.headers = {{"X-Token", "hunter3"}};

  const std::string yaml = to_yaml_without_values(spec);

  EXPECT_EQ(yaml.find("hunter"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("DB_PASSWORD"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("X-Token"), std::string::npos) << yaml;
  EXPECT_TRUE(yaml.starts_with("# Values ")) << yaml;
  EXPECT_TRUE(parse_services(yaml, "x.yaml", "/elsewhere").has_value()) << yaml;
}

// Goal: exactly the fields of one-machine.md 5.7 make a new revision.
TEST(TemplateHash, ChangesWithTheFieldsThatMakeARevision) {
  const ServiceSpec base = command_spec(form());
  const auto differs = [&](auto change) {
    ServiceSpec other = base;
    change(other);
    return template_hash(other) != template_hash(base);
  };

  EXPECT_TRUE(differs([](ServiceSpec& s) { s.command.push_back("x"); }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.args.push_back("x"); }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.env[0].value = "x"; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.working_dir = "/x"; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.fixed_port = 1; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.h2c = true; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.probe.period_seconds = 1; }));
  EXPECT_TRUE(
      differs([](ServiceSpec& s) { s.probe.command = {"x"}, s.probe.kind = ProbeKind::exec; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.image = "x"; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.cpu_limit = 1; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.memory_limit.reset(); }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.container_concurrency = 1; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.timeout = std::chrono::seconds{1}; }));
  EXPECT_TRUE(differs([](ServiceSpec& s) { s.idle_timeout = std::chrono::seconds{1}; }));
}

TEST(TemplateHash, StaysWhenOnlyBoundsAndHostsChange) {
  ServiceSpec changed = command_spec(form());
  const std::string before = template_hash(changed);
  changed.template_annotations["autoscaling.knative.dev/max-scale"] = "2";
  changed.hosts = {{"a.example", ""}};
  changed.stop_grace = std::chrono::seconds{1};
  changed.placement.pin = "fast";

  EXPECT_EQ(template_hash(changed), before);
}

TEST(TakeLive, WhereReplicasMayRunIsTakenWithoutANewRevision) {
  ServiceSpec running = command_spec(form());
  ServiceSpec changed = running;
  changed.template_annotations["placement.sluice.dev/pin"] = "fast";
  changed.placement.pin = "fast";

  take_live(running, changed);

  EXPECT_EQ(running, changed);
}

TEST(TemplateHash, DistinguishesAdjacentFields) {
  ServiceSpec one;
  one.command = {"a", "b"};
  ServiceSpec two;
  two.command = {"a"};
  two.args = {"b"};
  ServiceSpec three;
  three.command = {"ab"};

  EXPECT_NE(template_hash(one), template_hash(two));
  EXPECT_NE(template_hash(one), template_hash(three));
}

}  // namespace
}  // namespace sluice::local
