#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::activator {

/// The place of one activator among those that serve a revision (activator.md 5.6).
struct ActivatorPlace {
  std::int32_t activators = 0;  ///< how many there are; 0 while unknown
  std::int32_t index = -1;      ///< which of them this one is, from 0; -1 until it has seen itself

  friend bool operator==(const ActivatorPlace&, const ActivatorPlace&) = default;
};

/// The place of `own` among `addresses`, which are sorted as strings and count once each. When
/// `own` is not among them `known` stays in force.
[[nodiscard]] ActivatorPlace place_among(std::span<const std::string> addresses,
                                         std::string_view own, const ActivatorPlace& known);

/// The part of a sorted list of pods that one activator uses: a run of neighbours and perhaps one
/// of those that are left over at the end of the list.
struct PodSubset {
  std::size_t first = 0;
  std::size_t count = 0;
  std::optional<std::size_t> extra = {};  ///< at or beyond first + count

  [[nodiscard]] std::size_t size() const { return count + (extra ? 1U : 0U); }

  /// Whether the pod at `position` of the list belongs to it.
  [[nodiscard]] bool contains(std::size_t position) const {
    return (position >= first && position - first < count) || extra == position;
  }

  friend bool operator==(const PodSubset&, const PodSubset&) = default;
};

/// Which of `pods` pods, sorted by destination as strings, the activator at `place` uses. All of
/// them without a limit per pod (`container_concurrency` 0), for at most one pod, alone, or while
/// its own place is unknown. With more activators than pods exactly one, index modulo pods, which
/// it shares with others, each at the full limit: what is too much waits in the sidecar. Otherwise
/// an equal slice, and the remainder at the end of the list goes one each to the first activators.
[[nodiscard]] PodSubset subset_of(std::size_t pods, const ActivatorPlace& place,
                                  std::int32_t container_concurrency);

/// The destinations of `all`, in any order and each once, that the activator at `place` uses;
/// sorted as strings.
[[nodiscard]] std::vector<std::string> assigned_of(std::vector<std::string> all,
                                                   const ActivatorPlace& place,
                                                   std::int32_t container_concurrency);

}  // namespace sluice::activator
