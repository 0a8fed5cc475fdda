// A revision of Knative's, as far as requests need it (activator.md 4, 6.3).

#include "common/kube/json_read.h"

#include "platform/kubernetes/activator/io/cluster_objects.h"
#include <algorithm>

namespace sluice::activator {

namespace {

using nlohmann::json;

std::int64_t whole(const json& object, const char* key, std::int64_t otherwise, std::int64_t most) {
  return std::clamp<std::int64_t>(reading::whole(object, key).value_or(otherwise), 0, most);
}

bool has(const json& object, const char* key) {
  return reading::member(object, key).is_object();
}

// The container that has a port takes the requests; alone it needs to name none.
bool is_main(const json& container, std::size_t containers) {
  return containers == 1 || !reading::array(container, "ports").empty();
}

bool is_fast_ready(const json& containers) {
  return std::all_of(containers.begin(), containers.end(), [&](const json& container) {
    if (has(container, "startupProbe")) return false;
    const bool exec = has(reading::member(container, "readinessProbe"), "exec");
    return !exec || !is_main(container, containers.size());
  });
}

bool speaks_h2c(const json& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const json& container) {
    const json& ports = reading::array(container, "ports");
    return std::any_of(ports.begin(), ports.end(),
                       [](const json& port) { return reading::text(port, "name") == "h2c"; });
  });
}

}  // namespace

std::optional<ServingSpec> decode_knative_revision(std::string_view document) {
  json revision;
  if (!kube::parse_object(document, revision)) return std::nullopt;
  const json& metadata = reading::member(revision, "metadata");
  const json& wanted = reading::member(revision, "spec");
  if (!wanted.is_object()) return std::nullopt;
  ServingSpec spec;
  const Labels labels = reading::string_map(metadata, "labels");
  if (const auto found = labels.find("serving.knative.dev/service"); found != labels.end()) {
    spec.service = found->second;
  }
  if (const auto found = labels.find("serving.knative.dev/configuration"); found != labels.end()) {
    spec.configuration = found->second;
  }
  spec.annotations = reading::string_map(metadata, "annotations");
  spec.container_concurrency =
      static_cast<std::int32_t>(whole(wanted, "containerConcurrency", 0, kConcurrencyMost));
  const std::int64_t timeout = whole(wanted, "timeoutSeconds", 300, kTimeoutSecondsMost);
  if (timeout > 0) spec.timeout = std::chrono::seconds{timeout};
  spec.response_start_timeout =
      std::chrono::seconds{whole(wanted, "responseStartTimeoutSeconds", 0, kTimeoutSecondsMost)};
  spec.idle_timeout =
      std::chrono::seconds{whole(wanted, "idleTimeoutSeconds", 0, kTimeoutSecondsMost)};
  const json& containers = reading::member(wanted, "containers");
  if (containers.is_array()) {
    spec.fast_ready = is_fast_ready(containers);
    spec.h2c = speaks_h2c(containers);
  }
  return spec;
}

}  // namespace sluice::activator
