// A revision of Knative's, as far as requests need it (activator.md 4, 6.3).

#include "activator/kubernetes/io/cluster_objects.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace sluice::activator {

namespace {

using nlohmann::json;

constexpr std::size_t kTextMost = 4 << 20;  // no API server takes a larger object
constexpr int kDepthMost = 64;
constexpr std::int64_t kConcurrencyMost = 1'000'000;
constexpr std::int64_t kTimeoutMost_s = 7 * 86'400;

const json& member(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string text(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

std::int64_t whole(const json& object, const char* key, std::int64_t otherwise, std::int64_t most) {
  const json& value = member(object, key);
  if (!value.is_number_integer()) return otherwise;
  return std::clamp<std::int64_t>(value.get<std::int64_t>(), 0, most);
}

Labels strings(const json& object, const char* key) {
  Labels labels;
  const json& map = member(object, key);
  if (!map.is_object()) return labels;
  for (const auto& [name, value] : map.items()) {
    if (value.is_string()) labels.emplace(name, value.get<std::string>());
  }
  return labels;
}

bool has(const json& object, const char* key) {
  return member(object, key).is_object();
}

// The container that has a port takes the requests; alone it needs to name none.
bool is_main(const json& container, std::size_t containers) {
  const json& ports = member(container, "ports");
  return containers == 1 || (ports.is_array() && !ports.empty());
}

bool is_fast_ready(const json& containers) {
  return std::all_of(containers.begin(), containers.end(), [&](const json& container) {
    if (has(container, "startupProbe")) return false;
    const bool exec = has(member(container, "readinessProbe"), "exec");
    return !exec || !is_main(container, containers.size());
  });
}

bool speaks_h2c(const json& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const json& container) {
    const json& ports = member(container, "ports");
    return ports.is_array() && std::any_of(ports.begin(), ports.end(), [](const json& port) {
             return text(port, "name") == "h2c";
           });
  });
}

}  // namespace

std::optional<ServingSpec> decode_knative_revision(std::string_view document) {
  if (document.size() > kTextMost) return std::nullopt;
  int deepest = 0;
  const json revision = json::parse(
      document,
      [&deepest](int depth, json::parse_event_t /*event*/, json& /*parsed*/) {
        deepest = std::max(deepest, depth);
        return depth <= kDepthMost;
      },
      false);
  const json& metadata = member(revision, "metadata");
  const json& wanted = member(revision, "spec");
  if (deepest > kDepthMost || text(metadata, "name").empty() || !wanted.is_object()) {
    return std::nullopt;
  }
  ServingSpec spec;
  const Labels labels = strings(metadata, "labels");
  if (const auto found = labels.find("serving.knative.dev/service"); found != labels.end()) {
    spec.service = found->second;
  }
  if (const auto found = labels.find("serving.knative.dev/configuration"); found != labels.end()) {
    spec.configuration = found->second;
  }
  spec.annotations = strings(metadata, "annotations");
  spec.container_concurrency =
      static_cast<std::int32_t>(whole(wanted, "containerConcurrency", 0, kConcurrencyMost));
  const std::int64_t timeout = whole(wanted, "timeoutSeconds", 300, kTimeoutMost_s);
  if (timeout > 0) spec.timeout = std::chrono::seconds{timeout};
  spec.response_start_timeout =
      std::chrono::seconds{whole(wanted, "responseStartTimeoutSeconds", 0, kTimeoutMost_s)};
  spec.idle_timeout = std::chrono::seconds{whole(wanted, "idleTimeoutSeconds", 0, kTimeoutMost_s)};
  const json& containers = member(wanted, "containers");
  if (containers.is_array()) {
    spec.fast_ready = is_fast_ready(containers);
    spec.h2c = speaks_h2c(containers);
  }
  return spec;
}

}  // namespace sluice::activator
