#include "programs/sluice/engine/spec_difference.h"

#include <fmt/format.h>

#include <map>

namespace sluice::local {
namespace {

using Keys = std::map<std::string, std::string>;

// Enough to see that it changed, too little to see what it is.
std::string mark_of(const std::string& value) {
  return fmt::format("({:08x})", std::hash<std::string>{}(value)&0xFFFFFFFFU);
}

std::string probe_text(const ReadinessProbe& probe) {
  const std::string detail = probe.kind == ProbeKind::http ? probe.path
                             : probe.kind == ProbeKind::exec
                                 ? fmt::format("{}", fmt::join(probe.command, " "))
                                 : probe.service;
  return std::string{name(probe.kind)} + (detail.empty() ? "" : " " + detail);
}

void add_health(Keys& keys, const char* key, const std::optional<HealthProbe>& probe) {
  if (!probe) return;
  keys[key] = fmt::format("{} every {} s, {} failures", probe_text(probe->question),
                          probe->question.period_seconds, probe->failure_threshold);
}

void add_program(Keys& keys, const std::string& prefix, const ProgramSpec& program) {
  keys[prefix + "image"] = program.image;
  keys[prefix + "command"] = fmt::format("{}", fmt::join(program.command, " "));
  keys[prefix + "args"] = fmt::format("{}", fmt::join(program.args, " "));
  for (const EnvVar& variable : program.env) {
    keys[prefix + "env " + variable.name] =
        variable.from ? variable.from->source.text() + " " + variable.from->key
                      : mark_of(variable.value);
  }
  for (const EnvFrom& all : program.env_from)
    keys[prefix + "envFrom " + all.source.text()] = all.prefix + "*";
  keys[prefix + "workingDir"] = program.working_dir.string();
  for (const VolumeMount& mount : program.mounts)
    keys[prefix + "mount " + mount.path] =
        mount.volume + (mount.sub_path.empty() ? "" : "/" + mount.sub_path);
}

Keys keys_of(const ServiceSpec& spec) {
  Keys keys;
  for (const HostRule& rule : spec.hosts) keys["hosts " + rule.host + rule.path_prefix] = "routed";
  for (const auto& [key, value] : spec.template_annotations) keys[key] = value;
  add_program(keys, "", spec.app());
  for (const ProgramSpec& program : spec.init)
    add_program(keys, "init " + program.name + " ", program);
  for (const auto& [name, data] : spec.config) {
    for (const auto& [key, value] : data) keys[name.text() + " " + key] = mark_of(value);
  }
  for (const Volume& volume : spec.volumes) {
    std::string text = volume.sources.empty() ? "empty" : "";
    for (const VolumeSource& source : volume.sources)
      text += (text.empty() ? "" : ", ") + source.source.text();
    keys["volume " + volume.name] = text;
  }
  if (spec.fixed_port) keys["port"] = std::to_string(*spec.fixed_port);
  if (spec.container_port) keys["containerPort"] = std::to_string(*spec.container_port);
  if (spec.h2c) keys["ports"] = "h2c";
  keys["containerConcurrency"] = std::to_string(spec.container_concurrency);
  keys["timeoutSeconds"] = std::to_string(spec.timeout.count());
  keys["responseStartTimeoutSeconds"] = std::to_string(spec.response_start_timeout.count());
  keys["idleTimeoutSeconds"] = std::to_string(spec.idle_timeout.count());
  keys["readinessProbe"] = probe_text(spec.probe);
  add_health(keys, "livenessProbe", spec.liveness);
  add_health(keys, "startupProbe", spec.startup);
  if (spec.cpu_limit) keys["limits.cpu"] = fmt::format("{}", *spec.cpu_limit);
  if (spec.memory_limit) keys["limits.memory"] = std::to_string(*spec.memory_limit);
  if (!spec.traffic.empty()) keys[kTrafficKey] = traffic_text(spec.traffic);
  keys["stop-grace"] = fmt::format("{}s", to_seconds(spec.stop_grace));
  keys["start-timeout"] = fmt::format("{}s", to_seconds(spec.start_timeout));
  return keys;
}

}  // namespace

std::vector<SpecChange> difference(const ServiceSpec& before, const ServiceSpec& after) {
  const Keys old_keys = keys_of(before);
  const Keys new_keys = keys_of(after);
  std::vector<SpecChange> changes;
  for (const auto& [key, value] : old_keys) {
    const auto found = new_keys.find(key);
    const std::string now = found == new_keys.end() ? "" : found->second;
    if (now != value) changes.push_back({key, value, now});
  }
  for (const auto& [key, value] : new_keys) {
    if (!old_keys.contains(key)) changes.push_back({key, "", value});
  }
  return changes;
}

}  // namespace sluice::local
