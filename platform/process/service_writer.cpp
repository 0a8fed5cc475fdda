#include "common/kube/base64.h"
#include "common/yaml/yaml_reader.h"

#include <fmt/format.h>
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

/// Whether the emitter writes it so that it is read back as it is.
bool is_text(const std::string& value) {
  return end_of_utf8(value) == value.size() && value.find('\0') == std::string::npos;
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

void put_number(YAML::Emitter& out, const char* key, std::int32_t value, std::int32_t otherwise) {
  if (value != otherwise) out << YAML::Key << key << YAML::Value << value;
}

void put_question(YAML::Emitter& out, const ReadinessProbe& probe, bool with_values) {
  out << YAML::Key << std::string{name(probe.kind)} << YAML::Value;
  out << YAML::BeginMap;
  if (probe.kind == ProbeKind::exec) put_words(out, "command", probe.command);
  if (!probe.service.empty()) {
    out << YAML::Key << "service" << YAML::Value;
    put(out, probe.service);
  }
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
}

void put_probe(YAML::Emitter& out, const ReadinessProbe& probe, bool with_values) {
  if (probe == ReadinessProbe{}) return;
  out << YAML::Key << "readinessProbe" << YAML::Value << YAML::BeginMap;
  put_question(out, probe, with_values);
  const ReadinessProbe usual;
  put_number(out, "periodSeconds", probe.period_seconds, usual.period_seconds);
  put_number(out, "timeoutSeconds", probe.timeout_seconds, usual.timeout_seconds);
  put_number(out, "successThreshold", probe.success_threshold, usual.success_threshold);
  out << YAML::EndMap;
}

void put_health(YAML::Emitter& out, const char* key, const std::optional<HealthProbe>& probe,
                bool with_values) {
  if (!probe) return;
  out << YAML::Key << key << YAML::Value << YAML::BeginMap;
  put_question(out, probe->question, with_values);
  const HealthProbe usual;
  put_number(out, "initialDelaySeconds", probe->initial_delay_seconds, 0);
  put_number(out, "periodSeconds", probe->question.period_seconds, usual.question.period_seconds);
  put_number(out, "timeoutSeconds", probe->question.timeout_seconds,
             usual.question.timeout_seconds);
  put_number(out, "failureThreshold", probe->failure_threshold, usual.failure_threshold);
  out << YAML::EndMap;
}

void put_text(YAML::Emitter& out, const char* key, const std::string& text) {
  out << YAML::Key << key << YAML::Value;
  put(out, text);
}

void put_optional(YAML::Emitter& out, bool optional) {
  if (optional) out << YAML::Key << "optional" << YAML::Value << true;
}

void put_env(YAML::Emitter& out, const std::vector<EnvVar>& env, bool with_values) {
  if (env.empty()) return;
  out << YAML::Key << "env" << YAML::Value << YAML::BeginSeq;
  for (const EnvVar& variable : env) {
    if (!variable.from) {
      put_pair(out, variable.name, variable.value, with_values);
      continue;
    }
    const bool secret = variable.from->source.kind == ConfigKind::secret;
    out << YAML::BeginMap;
    put_text(out, "name", variable.name);
    out << YAML::Key << "valueFrom" << YAML::Value << YAML::BeginMap;
    out << YAML::Key << (secret ? "secretKeyRef" : "configMapKeyRef") << YAML::Value;
    out << YAML::BeginMap;
    put_text(out, "name", variable.from->source.name);
    put_text(out, "key", variable.from->key);
    put_optional(out, variable.from->optional);
    out << YAML::EndMap << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

void put_env_from(YAML::Emitter& out, const std::vector<EnvFrom>& sources) {
  if (sources.empty()) return;
  out << YAML::Key << "envFrom" << YAML::Value << YAML::BeginSeq;
  for (const EnvFrom& all : sources) {
    out << YAML::BeginMap;
    if (!all.prefix.empty()) put_text(out, "prefix", all.prefix);
    const bool secret = all.source.kind == ConfigKind::secret;
    out << YAML::Key << (secret ? "secretRef" : "configMapRef") << YAML::Value << YAML::BeginMap;
    put_text(out, "name", all.source.name);
    put_optional(out, all.optional);
    out << YAML::EndMap << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

void put_mounts(YAML::Emitter& out, const std::vector<VolumeMount>& mounts) {
  if (mounts.empty()) return;
  out << YAML::Key << "volumeMounts" << YAML::Value << YAML::BeginSeq;
  for (const VolumeMount& mount : mounts) {
    out << YAML::BeginMap;
    put_text(out, "name", mount.volume);
    put_text(out, "mountPath", mount.path);
    if (!mount.sub_path.empty()) put_text(out, "subPath", mount.sub_path);
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

void put_volume_source(YAML::Emitter& out, const VolumeSource& source, bool projected,
                       const std::optional<std::uint32_t>& mode) {
  const bool secret = source.source.kind == ConfigKind::secret;
  out << YAML::Key << (secret ? "secret" : "configMap") << YAML::Value << YAML::BeginMap;
  put_text(out, secret && !projected ? "secretName" : "name", source.source.name);
  if (mode) out << YAML::Key << "defaultMode" << YAML::Value << *mode;
  put_optional(out, source.optional);
  if (!source.items.empty()) {
    out << YAML::Key << "items" << YAML::Value << YAML::BeginSeq;
    for (const auto& [key, path] : source.items) {
      out << YAML::BeginMap;
      put_text(out, "key", key);
      put_text(out, "path", path);
      out << YAML::EndMap;
    }
    out << YAML::EndSeq;
  }
  out << YAML::EndMap;
}

void put_volumes(YAML::Emitter& out, const std::vector<Volume>& volumes) {
  if (volumes.empty()) return;
  out << YAML::Key << "volumes" << YAML::Value << YAML::BeginSeq;
  for (const Volume& volume : volumes) {
    out << YAML::BeginMap;
    put_text(out, "name", volume.name);
    if (volume.sources.empty()) {
      out << YAML::Key << "emptyDir" << YAML::Value << YAML::BeginMap << YAML::EndMap;
    } else if (volume.sources.size() == 1) {
      put_volume_source(out, volume.sources.front(), false, volume.mode);
    } else {
      out << YAML::Key << "projected" << YAML::Value << YAML::BeginMap;
      if (volume.mode) out << YAML::Key << "defaultMode" << YAML::Value << *volume.mode;
      out << YAML::Key << "sources" << YAML::Value << YAML::BeginSeq;
      for (const VolumeSource& source : volume.sources) {
        out << YAML::BeginMap;
        put_volume_source(out, source, true, std::nullopt);
        out << YAML::EndMap;
      }
      out << YAML::EndSeq << YAML::EndMap;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

void put_program(YAML::Emitter& out, const ProgramSpec& program, bool with_values) {
  if (!program.name.empty()) put_text(out, "name", program.name);
  if (!program.image.empty()) put_text(out, "image", program.image);
  put_words(out, "command", program.command);
  put_words(out, "args", program.args);
  if (!program.working_dir.empty()) put_text(out, "workingDir", program.working_dir.string());
  put_env(out, program.env, with_values);
  put_env_from(out, program.env_from);
  put_mounts(out, program.mounts);
}

void put_container(YAML::Emitter& out, const ServiceSpec& spec, bool with_values) {
  out << YAML::BeginMap;
  put_program(out, spec.app(), with_values);
  if (spec.h2c || spec.container_port) {
    out << YAML::Key << "ports" << YAML::Value << YAML::Flow << YAML::BeginSeq << YAML::BeginMap;
    if (spec.h2c) put_text(out, "name", "h2c");
    if (spec.container_port)
      out << YAML::Key << "containerPort" << YAML::Value << *spec.container_port;
    out << YAML::EndMap << YAML::EndSeq;
  }
  put_probe(out, spec.probe, with_values);
  put_health(out, "livenessProbe", spec.liveness, with_values);
  put_health(out, "startupProbe", spec.startup, with_values);
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

/// The values that YAML can hold as text when `encoded` is false, and the others when it is true.
void put_data(YAML::Emitter& out, const char* key, const ConfigData& data, bool encoded) {
  bool open = false;
  for (const auto& [name, value] : data) {
    if (is_text(value) == encoded) continue;
    if (!open) out << YAML::Key << key << YAML::Value << YAML::BeginMap;
    open = true;
    out << YAML::Key;
    put(out, name);
    out << YAML::Value << YAML::DoubleQuoted << (encoded ? kube::encode_base64(value) : value);
  }
  if (open) out << YAML::EndMap;
}

std::string config_document(const ConfigName& name, const ConfigData& data, bool with_values) {
  const bool secret = name.kind == ConfigKind::secret;
  YAML::Emitter out;
  out << YAML::BeginMap;
  put_text(out, "apiVersion", "v1");
  put_text(out, "kind", secret ? "Secret" : "ConfigMap");
  out << YAML::Key << "metadata" << YAML::Value << YAML::BeginMap;
  put_text(out, "name", name.name);
  out << YAML::EndMap;
  if (with_values) {
    put_data(out, secret ? "stringData" : "data", data, false);
    put_data(out, secret ? "data" : "binaryData", data, true);
  } else if (!data.empty()) {
    out << YAML::Key << "data" << YAML::Value << YAML::BeginMap;
    for (const auto& [key, value] : data) {
      out << YAML::Key;
      put(out, key);
      out << YAML::Value << YAML::Null;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndMap;
  return std::string(out.c_str(), out.size()) + "\n---\n";
}

void put_traffic(YAML::Emitter& out, const Traffic& traffic) {
  if (traffic.empty()) return;
  out << YAML::Key << "traffic" << YAML::Value << YAML::BeginSeq;
  for (const TrafficTarget& target : traffic) {
    out << YAML::BeginMap;
    if (target.revision.empty()) {
      out << YAML::Key << "latestRevision" << YAML::Value << true;
    } else {
      put_text(out, "revisionName", target.revision);
    }
    out << YAML::Key << "percent" << YAML::Value << target.percent;
    if (!target.tag.empty()) put_text(out, "tag", target.tag);
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

std::string document_of(const ServiceSpec& spec, bool with_values) {
  std::string config;
  for (const auto& [name, data] : spec.config) config += config_document(name, data, with_values);
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
  put_volumes(out, spec.volumes);
  if (!spec.init.empty()) {
    out << YAML::Key << "initContainers" << YAML::Value << YAML::BeginSeq;
    for (const ProgramSpec& program : spec.init) {
      out << YAML::BeginMap;
      put_program(out, program, with_values);
      out << YAML::EndMap;
    }
    out << YAML::EndSeq;
  }
  out << YAML::Key << "containers" << YAML::Value << YAML::BeginSeq;
  put_container(out, spec, with_values);
  out << YAML::EndSeq << YAML::EndMap << YAML::EndMap;
  put_traffic(out, spec.traffic);
  out << YAML::EndMap << YAML::EndMap;
  return config + std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace

std::string to_yaml(const ServiceSpec& spec) {
  return document_of(spec, true);
}

std::string to_yaml_without_values(const ServiceSpec& spec) {
  return fmt::format(
             "# Values of variables{} and of probe headers are left out; `sluice get {} -o yaml` "
             "has them.\n",
             spec.config.empty() ? "" : ", of ConfigMaps and Secrets", spec.name) +
         document_of(spec, false);
}

}  // namespace sluice::local
