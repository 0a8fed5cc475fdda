#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/core/policy.h"
#include <cstdint>
#include <string>

namespace sluice::node_agent {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;

/// A node told in a few words: times in milliseconds, sizes in MiB. Samples are as old as the
/// observation, quotas as last set.
class Scene {
 public:
  explicit Scene(std::int64_t capacity = 1000) { node().capacity = capacity * kMiB; }

  Scene& at(std::int64_t milliseconds);
  Scene& after(std::int64_t milliseconds);

  /// Memory in use.
  Scene& used(std::int64_t size);

  /// A container of `size` with `limit`, started `age` ms before now; to be refined by reference.
  Container& add(const std::string& id, std::int64_t size, std::int64_t limit,
                 std::int64_t age = 10'000);
  Container& operator[](const std::string& id);
  Scene& grow(const std::string& id, std::int64_t size);
  Scene& remove(const std::string& id);

  NodeMemory& node() {
    if (!seen.memory) seen.memory.emplace();
    return *seen.memory;
  }

  Observation seen{.now = TimePoint{std::chrono::hours{1000}}, .memory = {}, .containers = {}};
};

/// `ok [a:100m b:25m] -c 64`: pressure, who is throttled to what, the sacrifice, admissible MiB
/// (`any` without a gate).
[[nodiscard]] std::string shown(const Decision& decision);

/// The throttled alone, `a:100m b:frozen`.
[[nodiscard]] std::string throttled(const Decision& decision);

}  // namespace sluice::node_agent
