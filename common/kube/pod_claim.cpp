#include "common/kube/pod_claim.h"

#include "common/kube/json_read.h"
#include "common/kube/sidecar.h"
#include "common/values/quantity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace sluice::kube {
namespace {

using nlohmann::json;
using Amount = std::optional<std::int64_t>;

constexpr double kCoresMax = 1'000'000;
constexpr double kMillicores = 1000;

// 0 is no limit in Kubernetes, and asks for nothing.
Amount bytes_of(std::string_view quantity) {
  const auto size = read_size(quantity);
  return size && *size > 0 ? Amount{*size} : std::nullopt;
}

Amount millicores_of(std::string_view quantity) {
  const auto cores = read_cores(quantity);
  if (!cores || *cores <= 0) return std::nullopt;
  return std::llround(std::min(*cores, kCoresMax) * kMillicores);
}

struct Resource {
  const char* name;
  Amount (*read)(std::string_view quantity);
  std::string SidecarResources::*sidecar_limit;
  std::string SidecarResources::*sidecar_request;
};

constexpr Resource kMemory{"memory", bytes_of, &SidecarResources::memory_limit,
                           &SidecarResources::memory_request};
constexpr Resource kCpu{"cpu", millicores_of, &SidecarResources::cpu_limit,
                        &SidecarResources::cpu_request};

Amount asked(const json& of, const Resource& resource) {
  const json& resources = reading::member(of, "resources");
  for (const char* const list : {"limits", "requests"}) {
    const std::string quantity = reading::text(reading::member(resources, list), resource.name);
    if (const Amount amount = resource.read(quantity)) return amount;
  }
  return std::nullopt;
}

std::int64_t injected(const Resource& resource) {
  const SidecarResources sidecar;
  const Amount limit = resource.read(sidecar.*resource.sidecar_limit);
  return limit ? *limit : resource.read(sidecar.*resource.sidecar_request).value_or(0);
}

std::int64_t sum(std::int64_t one, std::int64_t other) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return one > kMost - other ? kMost : one + other;
}

// As the scheduler adds up: what stays runs side by side; an init container that ends runs alone,
// beside the sidecars that were started before it. The injected one comes after all of those.
Amount claim_of(const json& pod_spec, const Resource& resource) {
  if (const Amount of_pod = asked(pod_spec, resource)) return of_pod;
  bool is_said = false;
  bool has_sidecar = false;
  const auto amount = [&](const json& container) {
    const Amount of_one = asked(container, resource);
    const bool is_sidecar = reading::text(container, "name") == kSidecarContainer;
    has_sidecar = has_sidecar || is_sidecar;
    is_said = is_said || (of_one && !is_sidecar);
    return of_one.value_or(0);
  };
  std::int64_t staying = 0;
  std::int64_t at_start = 0;
  for (const json& container : reading::array(pod_spec, "initContainers")) {
    const std::int64_t together = sum(staying, amount(container));
    at_start = std::max(at_start, together);
    if (is_native_sidecar(container)) staying = together;
  }
  for (const json& container : reading::array(pod_spec, "containers")) {
    staying = sum(staying, amount(container));
  }
  if (!is_said) return std::nullopt;
  // Where the pod as a whole has resources, the injector gives the sidecar none.
  const bool of_pod = reading::member(pod_spec, "resources").is_object();
  if (!has_sidecar && !of_pod) staying = sum(staying, injected(resource));
  return std::max(staying, at_start);
}

}  // namespace

Amount memory_claim(const json& pod_spec) {
  return claim_of(pod_spec, kMemory);
}

Amount cpu_claim(const json& pod_spec) {
  return claim_of(pod_spec, kCpu);
}

}  // namespace sluice::kube
