#include "platform/process/container_parser.h"

#include "common/values/dns_label.h"

#include <fmt/format.h>

#include "platform/process/probe_parser.h"
#include "platform/process/quantity.h"
#include <algorithm>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kListMax = 10'000;
constexpr std::size_t kInitMax = 100;

void read_ports(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  const auto ports = reader.items(entry, kListMax);
  if (ports.size() > 1) {
    reader.fail(ports[1].line, "`ports` has more than one item", "keep the one that serves HTTP");
  }
  for (const YamlEntry& item : ports) {
    const YamlKeys keys{{"name", "containerPort", "protocol"}, {"hostPort", "hostIP"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "ports", keys)) {
      const auto value = reader.text(field);
      if (field.key == "containerPort" && value && !value->empty() && *value != "0") {
        if (const auto number = reader.integer(field, 1, 65535))
          spec.container_port = static_cast<std::uint16_t>(*number);
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

/// A container as it is read: what its fields mean depends on whether it has a command.
struct Written {
  bool in_container = false;  ///< it has an image and no command
  int image_line = 0;
  std::string image = {};
  ProgramSpec program = {};
};

Written begin_container(const std::vector<YamlEntry>& fields) {
  Written written;
  const auto has = [&](std::string_view key) {
    return std::any_of(fields.begin(), fields.end(), [&](const YamlEntry& field) {
      return field.key == key && !field.value.IsNull() &&
             !(field.value.IsSequence() && field.value.size() == 0);
    });
  };
  written.in_container = has("image") && !has("command");
  return written;
}

void read_working_dir(const ContainerContext& context, const YamlEntry& field, Written& written) {
  YamlReader& reader = context.reader;
  const auto text = reader.text(field);
  if (!text || text->empty()) return;
  if (!written.in_container) {
    written.program.working_dir = directory_of(context.base_dir / *text);
  } else if (text->front() == '/') {
    written.program.working_dir = directory_of(*text);
  } else {
    reader.fail(field.line, "`workingDir` is not absolute", "write a path in the container");
  }
}

/// Reads a key that every container may have.
void read_program(const ContainerContext& context, const YamlEntry& field, ServiceSpec& spec,
                  Written& written) {
  YamlReader& reader = context.reader;
  ProgramSpec& program = written.program;
  if (field.key == "image") {
    written.image_line = field.line;
    written.image = reader.text(field).value_or("");
  } else if (field.key == "command") {
    read_words(reader, field, program.command);
  } else if (field.key == "args") {
    read_words(reader, field, program.args);
  } else if (field.key == "workingDir") {
    read_working_dir(context, field, written);
  } else if (field.key == "env") {
    read_env(reader, context.config, field, spec, program.env);
  } else if (field.key == "envFrom") {
    read_env_from(reader, context.config, field, spec, program.env_from);
  } else {
    read_mounts(reader, field, spec, context.passed, written.in_container, program.mounts);
  }
}

/// The program that was read; where there is nothing to run, the reader has a problem.
ProgramSpec end_container(const ContainerContext& context, const YamlEntry& entry,
                          Written written) {
  YamlReader& reader = context.reader;
  ProgramSpec& program = written.program;
  if (written.in_container) {
    auto wrong = check_image(written.image);
    if (!wrong && !context.container_runtime.empty()) {
      const auto runtime = find_container_runtime(context.container_runtime);
      if (!runtime) wrong = runtime.error();
    }
    if (wrong) reader.fail(written.image_line, wrong->what, wrong->fix);
    program.image = std::move(written.image);
    return std::move(program);
  }
  if (program.working_dir.empty()) program.working_dir = directory_of(context.base_dir);
  if (program.command.empty() || program.command.front().empty()) {
    reader.fail_missing(entry.line, "command", "`command` is missing",
                        "add `command: [program, argument]`, or an `image`");
  } else if (written.image_line != 0) {
    reader.warn(written.image_line, "`image` has no effect beside `command`, which is run");
  }
  return std::move(program);
}

}  // namespace

std::filesystem::path directory_of(const std::filesystem::path& path) {
  const auto normal = path.lexically_normal();
  return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

void read_container(const ContainerContext& context, const YamlEntry& entry, ServiceSpec& spec) {
  YamlReader& reader = context.reader;
  std::vector<YamlEntry> probes;
  const YamlKeys keys{
      {"image", "command", "args", "workingDir", "env", "envFrom", "ports", "volumeMounts",
       "readinessProbe", "livenessProbe", "startupProbe", "resources"},
      {"imagePullPolicy", "volumeDevices", "securityContext", "lifecycle", "terminationMessagePath",
       "terminationMessagePolicy", "stdin", "stdinOnce", "tty"},
      {"name"}};
  const auto fields = reader.entries(entry.value, entry.line, "containers", keys);
  Written written = begin_container(fields);
  for (const YamlEntry& field : fields) {
    if (field.key == "ports") {
      read_ports(reader, field, spec);
    } else if (field.key.ends_with("Probe")) {
      probes.push_back(field);
    } else if (field.key == "resources") {
      read_resources(reader, field, spec);
    } else {
      read_program(context, field, spec, written);
    }
  }
  // Probes may name the port, wherever that stands.
  std::vector<std::string> ports{std::to_string(spec.port_in_container())};
  if (spec.fixed_port) ports.push_back(std::to_string(*spec.fixed_port));
  ports.emplace_back(spec.h2c ? "h2c" : "http1");
  for (const YamlEntry& field : probes) {
    if (field.key == "readinessProbe") {
      read_readiness(reader, field, ports, spec.probe);
    } else {
      (field.key == "livenessProbe" ? spec.liveness : spec.startup) =
          read_health(reader, field, ports);
    }
  }
  ProgramSpec app = end_container(context, entry, std::move(written));
  spec.image = std::move(app.image);
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
    std::string name = "init-" + std::to_string(spec.init.size() + 1);
    const YamlKeys keys{
        {"name", "image", "command", "args", "workingDir", "env", "envFrom", "volumeMounts",
         "restartPolicy"},
        {"imagePullPolicy", "resources", "ports", "readinessProbe", "livenessProbe", "startupProbe",
         "volumeDevices", "securityContext", "lifecycle", "terminationMessagePath",
         "terminationMessagePolicy", "stdin", "stdinOnce", "tty"}};
    const auto fields = reader.entries(item.value, item.line, "initContainers", keys);
    Written written = begin_container(fields);
    for (const YamlEntry& field : fields) {
      if (field.key == "restartPolicy") {
        reader.fail(field.line, "an init container that keeps running cannot be run here",
                    "remove `restartPolicy`, or make it a service of its own");
      } else if (field.key == "name") {
        name = reader.text(field).value_or("");
      } else {
        read_program(context, field, spec, written);
      }
    }
    ProgramSpec program = end_container(context, item, std::move(written));
    program.name = std::move(name);
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
    spec.init.push_back(std::move(program));
  }
}

}  // namespace sluice::local
