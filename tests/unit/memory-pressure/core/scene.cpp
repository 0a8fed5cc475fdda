#include "tests/unit/memory-pressure/core/scene.h"

#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::node_agent {

Scene& Scene::at(std::int64_t milliseconds) {
  seen.now = TimePoint{std::chrono::hours{1000} + std::chrono::milliseconds{milliseconds}};
  for (Container& one : seen.containers) one.sampled = seen.now;
  return *this;
}

Scene& Scene::after(std::int64_t milliseconds) {
  seen.now += std::chrono::milliseconds{milliseconds};
  for (Container& one : seen.containers) one.sampled = seen.now;
  return *this;
}

Scene& Scene::used(std::int64_t size) {
  node().used = size * kMiB;
  return *this;
}

Container& Scene::add(const std::string& id, std::int64_t size, std::int64_t limit,
                      std::int64_t age) {
  Container one;
  one.id = id;
  one.pod_uid = "uid-" + id;
  one.pod_namespace = "default";
  one.pod = "pod-" + id;
  one.name = "main";
  one.started = seen.now - std::chrono::milliseconds{age};
  one.memory_limit = limit * kMiB;
  one.working_set = size * kMiB;
  one.sampled = seen.now;
  one.quota = kUnlimited;
  return seen.containers.emplace_back(one);
}

Container& Scene::operator[](const std::string& id) {
  return *std::find_if(seen.containers.begin(), seen.containers.end(),
                       [&](const Container& one) { return one.id == id; });
}

Scene& Scene::grow(const std::string& id, std::int64_t size) {
  (*this)[id].working_set = size * kMiB;
  return *this;
}

Scene& Scene::remove(const std::string& id) {
  std::erase_if(seen.containers, [&](const Container& one) { return one.id == id; });
  return *this;
}

std::string throttled(const Decision& decision) {
  std::string text;
  for (const Throttle& one : decision.throttled) {
    if (!text.empty()) text += ' ';
    const auto quota = std::lround(std::floor(millicores(one.quota)));
    text += one.id + ':' + (one.freeze ? "frozen" : std::to_string(quota) + 'm');
  }
  return text;
}

std::string shown(const Decision& decision) {
  constexpr std::array<std::string_view, 3> kNames{"ok", "high", "critical"};
  std::string text{kNames[static_cast<std::size_t>(decision.pressure)]};
  text += " [" + throttled(decision) + "]";
  if (decision.sacrifice) text += " -" + decision.sacrifice->id;
  text += ' ';
  text +=
      decision.admit_bytes == kAdmitAnything ? "any" : std::to_string(decision.admit_bytes / kMiB);
  return text;
}

}  // namespace sluice::node_agent
