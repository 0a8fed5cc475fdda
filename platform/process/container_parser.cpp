#include "platform/process/container_parser.h"

#include <fmt/format.h>

#include "platform/process/probe_parser.h"
#include "platform/process/quantity.h"
#include <algorithm>

namespace sluice::local {
namespace {

constexpr std::size_t kListMax = 10'000;
constexpr std::size_t kInitMax = 100;
constexpr const char* kUsualPort = "8080";  // of a container without `ports`

void read_ports(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec, std::string& port) {
  const auto ports = reader.items(entry, kListMax);
  if (ports.size() > 1) {
    reader.fail(ports[1].line, "`ports` has more than one item", "keep the one that serves HTTP");
  }
  for (const YamlEntry& item : ports) {
    const YamlKeys keys{{"name", "containerPort", "protocol"}, {"hostPort", "hostIP"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "ports", keys)) {
      const auto value = reader.text(field);
      if (field.key == "containerPort" && value && !value->empty() && *value != "0") {
        if (const auto number = reader.integer(field, 1, 65535)) {
          spec.container_port = static_cast<std::uint16_t>(*number);
          port = *value;
        }
      }
      if (field.key != "name" || !value || value->empty() || *value == "http1") continue;
      if (*value == "h2c") {
        spec.h2c = true;
      } else {
        reader.fail(field.line, fmt::format("unknown port name `{}`", value->substr(0, 80)),
                    "name it http1, or h2c for HTTP/2 in clear text");
      }
    }
  }
}

void read_resources(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  const YamlKeys keys{{"limits"}, {"requests", "claims"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "resources", keys)) {
    const YamlKeys limits{{"cpu", "memory"}, {"ephemeral-storage", "nvidia.com/gpu"}};
    for (const YamlEntry& limit :
         reader.entries(field.value, field.line, "resources.limits", limits)) {
      const auto text = reader.text(limit);
      if (!text) continue;
      if (limit.key == "cpu") {
        if (const auto cores = reader.checked(limit, parse_cpu(*text))) spec.cpu_limit = *cores;
      } else if (const auto bytes = reader.checked(limit, parse_memory(*text))) {
        spec.memory_limit = *bytes;
      }
    }
  }
}

void read_words(YamlReader& reader, const YamlEntry& entry, std::vector<std::string>& words) {
  for (const YamlEntry& item : reader.items(entry, kListMax)) {
    if (auto text = reader.text(item)) words.push_back(std::move(*text));
  }
}

/// Reads a key that every container may have.
void read_program(const ContainerContext& context, const YamlEntry& field, ServiceSpec& spec,
                  ProgramSpec& program) {
  YamlReader& reader = context.reader;
  if (field.key == "command") {
    read_words(reader, field, program.command);
  } else if (field.key == "args") {
    read_words(reader, field, program.args);
  } else if (field.key == "workingDir") {
    if (const auto text = reader.text(field); text && !text->empty())
      program.working_dir = directory_of(context.base_dir / *text);
  } else if (field.key == "env") {
    read_env(reader, context.config, field, spec, program.env);
  } else if (field.key == "envFrom") {
    read_env_from(reader, context.config, field, spec, program.env_from);
  } else {
    read_mounts(reader, field, spec, context.passed, program.mounts);
  }
}

void check_command(YamlReader& reader, const YamlEntry& entry, int image_line,
                   const ProgramSpec& program) {
  if (!program.command.empty() && !program.command.front().empty()) {
    if (image_line != 0)
      reader.warn(image_line, "`image` has no effect on one machine; `command` is run");
  } else if (image_line != 0) {
    reader.fail(image_line, "`image` without `command`: no container runtime here",
                "add `command` with the program to run on this machine");
  } else {
    reader.fail(entry.line, "`command` is missing", "add `command: [program, argument]`");
  }
}

}  // namespace

std::filesystem::path directory_of(const std::filesystem::path& path) {
  const auto normal = path.lexically_normal();
  return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

void read_container(const ContainerContext& context, const YamlEntry& entry, ServiceSpec& spec) {
  YamlReader& reader = context.reader;
  ProgramSpec app;
  app.working_dir = spec.working_dir;
  int image_line = 0;
  std::string port = kUsualPort;
  std::vector<YamlEntry> health;
  const YamlKeys keys{
      {"image", "command", "args", "workingDir", "env", "envFrom", "ports", "volumeMounts",
       "readinessProbe", "livenessProbe", "startupProbe", "resources"},
      {"imagePullPolicy", "volumeDevices", "securityContext", "lifecycle", "terminationMessagePath",
       "terminationMessagePolicy", "stdin", "stdinOnce", "tty"},
      {"name"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "containers", keys)) {
    if (field.key == "image") {
      image_line = field.line;
    } else if (field.key == "ports") {
      read_ports(reader, field, spec, port);
    } else if (field.key == "readinessProbe") {
      read_readiness(reader, field, spec.probe);
    } else if (field.key == "livenessProbe" || field.key == "startupProbe") {
      health.push_back(field);
    } else if (field.key == "resources") {
      read_resources(reader, field, spec);
    } else {
      read_program(context, field, spec, app);
    }
  }
  std::vector<std::string> ports{port};
  if (spec.fixed_port) ports.push_back(std::to_string(*spec.fixed_port));
  for (const YamlEntry& field : health) {
    (field.key == "livenessProbe" ? spec.liveness : spec.startup) =
        read_health(reader, field, ports);
  }
  check_command(reader, entry, image_line, app);
  spec.command = std::move(app.command);
  spec.args = std::move(app.args);
  spec.env = std::move(app.env);
  spec.env_from = std::move(app.env_from);
  spec.working_dir = std::move(app.working_dir);
  spec.mounts = std::move(app.mounts);
}

void read_init_containers(const ContainerContext& context, const YamlEntry& entry,
                          ServiceSpec& spec) {
  YamlReader& reader = context.reader;
  for (const YamlEntry& item : reader.items(entry, kInitMax)) {
    ProgramSpec program;
    program.name = "init-" + std::to_string(spec.init.size() + 1);
    program.working_dir = directory_of(context.base_dir);
    int image_line = 0;
    const YamlKeys keys{
        {"name", "image", "command", "args", "workingDir", "env", "envFrom", "volumeMounts",
         "restartPolicy"},
        {"imagePullPolicy", "resources", "ports", "readinessProbe", "livenessProbe", "startupProbe",
         "volumeDevices", "securityContext", "lifecycle", "terminationMessagePath",
         "terminationMessagePolicy", "stdin", "stdinOnce", "tty"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "initContainers", keys)) {
      if (field.key == "image") {
        image_line = field.line;
      } else if (field.key == "restartPolicy") {
        reader.fail(field.line, "an init container that keeps running cannot be run here",
                    "remove `restartPolicy`, or make it a service of its own");
      } else if (field.key == "name") {
        program.name = reader.text(field).value_or("");
      } else {
        read_program(context, field, spec, program);
      }
    }
    const bool twice =
        std::any_of(spec.init.begin(), spec.init.end(),
                    [&](const ProgramSpec& other) { return other.name == program.name; });
    if (!is_dns_label(program.name)) {
      reader.fail(item.line,
                  fmt::format("`{}` cannot name a container", program.name.substr(0, 80)),
                  "give it a `name` of 1 to 63 of a-z, 0-9 and -");
    } else if (twice) {
      reader.fail(item.line, fmt::format("two init containers are named `{}`", program.name),
                  "rename one");
    }
    check_command(reader, item, image_line, program);
    spec.init.push_back(std::move(program));
  }
}

}  // namespace sluice::local
