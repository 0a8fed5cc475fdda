#include "programs/sluice/engine/spec_difference.h"

#include <fmt/format.h>

#include <map>

namespace sluice::local {
namespace {

using Keys = std::map<std::string, std::string>;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

Keys keys_of(const ServiceSpec& spec) {
  Keys keys;
  for (const HostRule& rule : spec.hosts) keys["hosts " + rule.host + rule.path_prefix] = "routed";
  for (const auto& [key, value] : spec.template_annotations) keys[key] = value;
  keys["command"] = joined(spec.command);
  keys["args"] = joined(spec.args);
  for (const EnvVar& variable : spec.env) {
    // Enough to see that it changed, too little to see what it is.
    keys["env " + variable.name] =
        fmt::format("({:08x})", std::hash<std::string>{}(variable.value) & 0xFFFFFFFFU);
  }
  keys["workingDir"] = spec.working_dir.string();
  if (spec.fixed_port) keys["port"] = std::to_string(*spec.fixed_port);
  if (spec.h2c) keys["ports"] = "h2c";
  keys["containerConcurrency"] = std::to_string(spec.container_concurrency);
  keys["timeoutSeconds"] = std::to_string(spec.timeout.count());
  keys["responseStartTimeoutSeconds"] = std::to_string(spec.response_start_timeout.count());
  keys["idleTimeoutSeconds"] = std::to_string(spec.idle_timeout.count());
  keys["readinessProbe"] =
      spec.probe.kind == ProbeKind::http ? "httpGet " + spec.probe.path : "tcpSocket";
  if (spec.cpu_limit) keys["limits.cpu"] = fmt::format("{}", *spec.cpu_limit);
  if (spec.memory_limit) keys["limits.memory"] = std::to_string(*spec.memory_limit);
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
