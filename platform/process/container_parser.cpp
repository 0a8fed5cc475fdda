#include "platform/process/container_parser.h"

#include <fmt/format.h>

#include "platform/process/quantity.h"
#include <algorithm>
#include <cctype>

namespace sluice::local {
namespace {

constexpr std::size_t kListMax = 10'000;

void read_env(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  for (const YamlEntry& item : reader.items(entry, kListMax)) {
    EnvVar variable;
    bool usable = true;
    const YamlKeys keys{{"name", "value", "valueFrom"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "env", keys)) {
      if (field.key == "valueFrom") {
        reader.fail(field.line, "`valueFrom` cannot be resolved: there is no cluster here",
                    "write the value with `value`, or set it in the engine's environment");
        usable = false;
      } else if (auto text = reader.text(field)) {
        (field.key == "name" ? variable.name : variable.value) = std::move(*text);
      } else {
        usable = false;
      }
    }
    if (!usable) continue;
    if (variable.name.empty() || variable.name.find('=') != std::string::npos) {
      reader.fail(item.line, fmt::format("`{}` cannot name a variable", variable.name),
                  "give each env item a `name` without `=`");
      continue;
    }
    spec.env.push_back(std::move(variable));
  }
}

void read_ports(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  const auto ports = reader.items(entry, kListMax);
  if (ports.size() > 1) {
    reader.fail(ports[1].line, "`ports` has more than one item", "keep the one that serves HTTP");
  }
  for (const YamlEntry& item : ports) {
    const YamlKeys keys{{"name", "containerPort", "protocol"}, {"hostPort", "hostIP"}};
    for (const YamlEntry& field : reader.entries(item.value, item.line, "ports", keys)) {
      const auto value = reader.text(field);
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

bool is_header_name(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kOthers.find(c) != kOthers.npos;
  });
}

void read_probe_header(YamlReader& reader, const YamlEntry& item, ReadinessProbe& probe) {
  std::pair<std::string, std::string> header;
  for (const YamlEntry& field :
       reader.entries(item.value, item.line, "httpHeaders", {{"name", "value"}})) {
    if (auto text = reader.text(field))
      (field.key == "name" ? header.first : header.second) = std::move(*text);
  }
  const bool clean = std::none_of(header.second.begin(), header.second.end(),
                                  [](char c) { return c == '\r' || c == '\n'; });
  if (!is_header_name(header.first) || !clean) {
    reader.fail(item.line, fmt::format("`{}` is not a header", header.first.substr(0, 80)),
                "give each item of httpHeaders a `name` and a one-line `value`");
    return;
  }
  probe.headers.push_back(std::move(header));
}

void read_http_get(YamlReader& reader, const YamlEntry& entry, ReadinessProbe& probe) {
  probe.kind = ProbeKind::http;
  const YamlKeys keys{{"path", "scheme", "httpHeaders"}, {"host"}, {"port"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "httpGet", keys)) {
    if (field.key == "httpHeaders") {
      for (const YamlEntry& item : reader.items(field, 100)) read_probe_header(reader, item, probe);
      continue;
    }
    const auto text = reader.text(field);
    if (!text || text->empty()) continue;
    if (field.key == "scheme" && *text != "HTTP") {
      reader.fail(field.line, fmt::format("`scheme` {} is not possible", text->substr(0, 80)),
                  "the app is asked over plain HTTP on $PORT: remove `scheme`");
    } else if (field.key == "path") {
      probe.path = text->front() == '/' ? *text : "/" + *text;
      if (std::any_of(text->begin(), text->end(), [](char c) { return c >= 0 && c <= ' '; }))
        reader.fail(field.line, "`path` contains a space", "escape it as %20");
    }
  }
}

void read_probe(YamlReader& reader, const YamlEntry& entry, ServiceSpec& spec) {
  ReadinessProbe& probe = spec.probe;
  int kinds = 0;
  const YamlKeys keys{{"httpGet", "tcpSocket", "grpc", "exec", "periodSeconds", "timeoutSeconds",
                       "successThreshold"},
                      {"initialDelaySeconds", "failureThreshold", "terminationGracePeriodSeconds"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "readinessProbe", keys)) {
    if (field.key == "exec") {
      reader.fail(field.line, "an `exec` probe cannot be asked by the sidecar",
                  "use httpGet or tcpSocket");
    } else if (field.key == "grpc") {
      reader.fail(field.line, "a `grpc` probe is not available on one machine yet",
                  "use httpGet or tcpSocket");
    } else if (field.key == "httpGet") {
      ++kinds;
      read_http_get(reader, field, probe);
    } else if (field.key == "tcpSocket") {
      ++kinds;
      for (const YamlEntry& part :
           reader.entries(field.value, field.line, "tcpSocket", {{"port"}, {"host"}}))
        static_cast<void>(reader.text(part));
    } else if (const auto number = reader.integer(field, 0, 3600)) {
      auto& target = field.key == "periodSeconds"    ? probe.period_seconds
                     : field.key == "timeoutSeconds" ? probe.timeout_seconds
                                                     : probe.success_threshold;
      target = static_cast<std::int32_t>(*number);
    }
  }
  if (kinds > 1)
    reader.fail(entry.line, "`readinessProbe` has both httpGet and tcpSocket", "keep one of them");
  probe.timeout_seconds = std::max(probe.timeout_seconds, 1);
  probe.success_threshold = std::max(probe.success_threshold, 1);
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

}  // namespace

std::filesystem::path directory_of(const std::filesystem::path& path) {
  const auto normal = path.lexically_normal();
  return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

void read_container(YamlReader& reader, const std::filesystem::path& base_dir,
                    const YamlEntry& entry, ServiceSpec& spec) {
  int image_line = 0;
  const YamlKeys keys{{"image", "command", "args", "workingDir", "env", "envFrom", "ports",
                       "readinessProbe", "resources"},
                      {"imagePullPolicy", "volumeMounts", "volumeDevices", "securityContext",
                       "livenessProbe", "startupProbe", "lifecycle", "terminationMessagePath",
                       "terminationMessagePolicy", "stdin", "stdinOnce", "tty"},
                      {"name"}};
  for (const YamlEntry& field : reader.entries(entry.value, entry.line, "containers", keys)) {
    if (field.key == "image") {
      image_line = field.line;
    } else if (field.key == "command") {
      read_words(reader, field, spec.command);
    } else if (field.key == "args") {
      read_words(reader, field, spec.args);
    } else if (field.key == "workingDir") {
      if (const auto text = reader.text(field); text && !text->empty())
        spec.working_dir = directory_of(base_dir / *text);
    } else if (field.key == "env") {
      read_env(reader, field, spec);
    } else if (field.key == "envFrom") {
      reader.fail(field.line, "`envFrom` cannot be resolved: there is no cluster here",
                  "write the values under `env`");
    } else if (field.key == "ports") {
      read_ports(reader, field, spec);
    } else if (field.key == "readinessProbe") {
      read_probe(reader, field, spec);
    } else {
      read_resources(reader, field, spec);
    }
  }
  if (spec.command.empty() || spec.command.front().empty()) {
    if (image_line != 0) {
      reader.fail(image_line, "`image` without `command`: no container runtime here",
                  "add `command` with the program to run on this machine");
    } else {
      reader.fail(entry.line, "`command` is missing", "add `command: [program, argument]`");
    }
  } else if (image_line != 0) {
    reader.warn(image_line, "`image` has no effect on one machine; `command` is run");
  }
}

}  // namespace sluice::local
