#include "common/kube/request_scaler.h"

#include "common/kube/json_read.h"
#include "common/scaling/setting_names.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace sluice::kube {
namespace {

using nlohmann::json;

constexpr std::string_view kKnative = "autoscaling.knative.dev/";
constexpr std::string_view kOurs = "autoscaling.sluice.dev/";

struct Key {
  const char* spec;
  std::string_view annotation;
};

constexpr std::array<Key, 14> kKeys{{
    {"metric", "metric"},
    {"target", "target"},
    {"targetUtilizationPercentage", "target-utilization-percentage"},
    {"targetBurstCapacity", "target-burst-capacity"},
    {"min", "min-scale"},
    {"max", "max-scale"},
    {"initialScale", "initial-scale"},
    {"activationScale", "activation-scale"},
    {"window", "window"},
    {"panicWindowPercentage", "panic-window-percentage"},
    {"panicThresholdPercentage", "panic-threshold-percentage"},
    {"scaleDownDelay", "scale-down-delay"},
    {"retention", "scale-to-zero-pod-retention-period"},
    {"aggregation", "metric-aggregation-algorithm"},
}};

// Without an exponent and without zeros at the end: `0.5`, `100`.
std::string number_text(double number) {
  std::array<char, 400> digits;
  const auto [end, ec] =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed);
  return ec == std::errc{} ? std::string{digits.data(), end} : std::string{};
}

std::string value_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  if (value.is_number_float() && std::isfinite(value.get<double>())) {
    return number_text(value.get<double>());
  }
  return {};
}

// Knative's other spelling of a key: `min-scale` is also `minScale`.
std::string camel_case(std::string_view dashed) {
  std::string camel;
  bool upper = false;
  for (const char c : dashed) {
    if (c == '-') {
      upper = true;
    } else {
      camel += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
  }
  return camel;
}

StringMap scaling_of(const StringMap& annotations, const json& autoscaling) {
  StringMap scaling;
  for (const auto& [key, value] : annotations) {
    if (key.starts_with(kKnative) || key.starts_with(kOurs) || key == kLoadBalancingKey) {
      scaling.emplace(key, value);
    }
  }
  for (const Key& key : kKeys) {
    std::string value = value_text(reading::member(autoscaling, key.spec));
    if (value.empty()) continue;
    const std::string name = std::string{kKnative}.append(key.annotation);
    const std::string alias = std::string{kKnative} + camel_case(key.annotation);
    if (alias != name) scaling.erase(alias);
    scaling.insert_or_assign(name, std::move(value));
  }
  return scaling;
}

RequestScaler::ServiceSpec service_of(const json& value) {
  RequestScaler::ServiceSpec service;
  service.name = reading::text(value, "name");
  service.port = value_text(reading::member(value, "port"));
  service.adopt = reading::flag(value, "adopt");
  for (const json& item : reading::array(value, "ports")) {
    service.ports.push_back({reading::text(item, "name"), reading::port(item, "port")});
  }
  return service;
}

RequestScaler::Status status_of(const json& value) {
  RequestScaler::Status status;
  status.observed_generation = reading::whole(value, "observedGeneration").value_or(0);
  status.activator_port = reading::integer32(value, "activatorPort", 0);
  status.desired = reading::integer32(value, "desired", -1);
  status.granted = reading::integer32(value, "granted", -1);
  status.ready = reading::integer32(value, "ready", -1);
  status.conditions = kube::conditions(value);
  return status;
}

}  // namespace

std::optional<RequestScaler> decode_request_scaler(std::string_view text) {
  json document;
  if (!kube::parse_object(text, document)) return std::nullopt;
  const json& metadata = reading::member(document, "metadata");
  const json& spec = reading::member(document, "spec");
  const json& target = reading::member(spec, "targetRef");
  const json& ignore = reading::member(spec, "ignore");
  RequestScaler scaler;
  scaler.uid = reading::text(metadata, "uid");
  scaler.generation = reading::whole(metadata, "generation").value_or(0);
  scaler.terminating = kube::is_terminating(metadata);
  scaler.finalizers = reading::strings(metadata, "finalizers");
  scaler.annotations = reading::string_map(metadata, "annotations");
  scaler.target = {reading::text(target, "apiVersion"), reading::text(target, "kind"),
                   reading::text(target, "name")};
  if (const std::int32_t chosen = reading::integer32(spec, "replicas", -1); chosen >= 0) {
    scaler.replicas = chosen;
  }
  scaler.service = service_of(reading::member(spec, "service"));
  scaler.container_concurrency = reading::integer32(spec, "containerConcurrency", 0);
  scaler.timeout_seconds = reading::integer32(spec, "timeoutSeconds", 300);
  scaler.response_start_timeout_seconds =
      reading::integer32(spec, "responseStartTimeoutSeconds", 0);
  scaler.idle_timeout_seconds = reading::integer32(spec, "idleTimeoutSeconds", 0);
  scaler.protocol = reading::text(spec, "protocol");
  scaler.scaling = scaling_of(scaler.annotations, reading::member(spec, "autoscaling"));
  scaler.ignore_paths = reading::strings(ignore, "paths");
  scaler.ignore_user_agents = reading::strings(ignore, "userAgents");
  scaler.has_signals = !reading::array(spec, "signals").empty();
  scaler.status = status_of(reading::member(document, "status"));
  return scaler;
}

}  // namespace sluice::kube
