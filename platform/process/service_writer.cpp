#include <yaml-cpp/yaml.h>

#include "platform/process/quantity.h"
#include "platform/process/service_spec.h"
#include <algorithm>
#include <array>
#include <cctype>

namespace sluice::local {
namespace {

/// Text that every YAML reader takes for this very string may stand without quotes.
bool is_plain(const std::string& text) {
  constexpr std::array<std::string_view, 9> kWords{"true", "false", "yes", "no", "on",
                                                   "off",  "null",  "y",   "n"};
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  const bool simple = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
           c == '-';
  });
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return simple && std::find(kWords.begin(), kWords.end(), lower) == kWords.end();
}

void put(YAML::Emitter& out, const std::string& text) {
  if (!is_plain(text)) out << YAML::DoubleQuoted;
  out << text;
}

void put_annotations(YAML::Emitter& out, const std::map<std::string, std::string>& annotations) {
  out << YAML::Key << "annotations" << YAML::Value << YAML::BeginMap;
  for (const auto& [key, value] : annotations) {
    out << YAML::Key;
    put(out, key);
    out << YAML::Value << YAML::DoubleQuoted << value;
  }
  out << YAML::EndMap;
}

void put_words(YAML::Emitter& out, const char* key, const std::vector<std::string>& words) {
  if (words.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const std::string& word : words) out << YAML::DoubleQuoted << word;
  out << YAML::EndSeq;
}

void put_pair(YAML::Emitter& out, const std::string& name, const std::string& value,
              bool with_value) {
  out << YAML::BeginMap << YAML::Key << "name" << YAML::Value;
  put(out, name);
  if (with_value) out << YAML::Key << "value" << YAML::Value << YAML::DoubleQuoted << value;
  out << YAML::EndMap;
}

void put_probe(YAML::Emitter& out, const ReadinessProbe& probe, bool with_values) {
  if (probe == ReadinessProbe{}) return;
  out << YAML::Key << "readinessProbe" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << (probe.kind == ProbeKind::http ? "httpGet" : "tcpSocket") << YAML::Value;
  out << YAML::BeginMap;
  if (probe.kind == ProbeKind::http) {
    out << YAML::Key << "path" << YAML::Value;
    put(out, probe.path);
    if (!probe.headers.empty()) {
      out << YAML::Key << "httpHeaders" << YAML::Value << YAML::BeginSeq;
      for (const auto& [name, value] : probe.headers) put_pair(out, name, value, with_values);
      out << YAML::EndSeq;
    }
  }
  out << YAML::EndMap;
  const ReadinessProbe usual;
  const auto number = [&](const char* key, std::int32_t value, std::int32_t otherwise) {
    if (value != otherwise) out << YAML::Key << key << YAML::Value << value;
  };
  number("periodSeconds", probe.period_seconds, usual.period_seconds);
  number("timeoutSeconds", probe.timeout_seconds, usual.timeout_seconds);
  number("successThreshold", probe.success_threshold, usual.success_threshold);
  out << YAML::EndMap;
}

void put_container(YAML::Emitter& out, const ServiceSpec& spec, bool with_values) {
  out << YAML::BeginMap;
  put_words(out, "command", spec.command);
  put_words(out, "args", spec.args);
  out << YAML::Key << "workingDir" << YAML::Value;
  put(out, spec.working_dir.string());
  if (!spec.env.empty()) {
    out << YAML::Key << "env" << YAML::Value << YAML::BeginSeq;
    for (const EnvVar& variable : spec.env)
      put_pair(out, variable.name, variable.value, with_values);
    out << YAML::EndSeq;
  }
  if (spec.h2c) {
    out << YAML::Key << "ports" << YAML::Value << YAML::Flow << YAML::BeginSeq << YAML::BeginMap
        << YAML::Key << "name" << YAML::Value << "h2c" << YAML::EndMap << YAML::EndSeq;
  }
  put_probe(out, spec.probe, with_values);
  if (spec.cpu_limit || spec.memory_limit) {
    out << YAML::Key << "resources" << YAML::Value << YAML::BeginMap;
    out << YAML::Key << "limits" << YAML::Value << YAML::BeginMap;
    if (spec.cpu_limit) {
      out << YAML::Key << "cpu" << YAML::Value << YAML::DoubleQuoted << format_cpu(*spec.cpu_limit);
    }
    if (spec.memory_limit) {
      out << YAML::Key << "memory" << YAML::Value << YAML::DoubleQuoted
          << format_size(*spec.memory_limit);
    }
    out << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndMap;
}

std::string document_of(const ServiceSpec& spec, bool with_values) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  out << YAML::Key << "apiVersion" << YAML::Value << "serving.knative.dev/v1";
  out << YAML::Key << "kind" << YAML::Value << "Service";
  out << YAML::Key << "metadata" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "name" << YAML::Value;
  put(out, spec.name);
  if (!spec.annotations.empty()) put_annotations(out, spec.annotations);
  out << YAML::EndMap;
  out << YAML::Key << "spec" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "template" << YAML::Value << YAML::BeginMap;
  if (!spec.template_annotations.empty()) {
    out << YAML::Key << "metadata" << YAML::Value << YAML::BeginMap;
    put_annotations(out, spec.template_annotations);
    out << YAML::EndMap;
  }
  out << YAML::Key << "spec" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "containerConcurrency" << YAML::Value << spec.container_concurrency;
  out << YAML::Key << "timeoutSeconds" << YAML::Value << spec.timeout.count();
  if (spec.response_start_timeout.count() > 0) {
    out << YAML::Key << "responseStartTimeoutSeconds" << YAML::Value
        << spec.response_start_timeout.count();
  }
  if (spec.idle_timeout.count() > 0)
    out << YAML::Key << "idleTimeoutSeconds" << YAML::Value << spec.idle_timeout.count();
  out << YAML::Key << "containers" << YAML::Value << YAML::BeginSeq;
  put_container(out, spec, with_values);
  out << YAML::EndSeq << YAML::EndMap << YAML::EndMap << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace

std::string to_yaml(const ServiceSpec& spec) {
  return document_of(spec, true);
}

std::string to_yaml_without_values(const ServiceSpec& spec) {
  return "# Values of variables and of probe headers are left out; `sluice get " + spec.name +
         " -o yaml` has them.\n" + document_of(spec, false);
}

}  // namespace sluice::local
