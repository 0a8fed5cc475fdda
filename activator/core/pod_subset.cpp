#include "activator/core/pod_subset.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

ActivatorPlace place_among(std::span<const std::string> addresses, std::string_view own,
                           const ActivatorPlace& known) {
  std::vector<std::string_view> sorted(addresses.begin(), addresses.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), own);
  if (found == sorted.end() || *found != own) {
    return known;
  }
  return {.activators = static_cast<std::int32_t>(sorted.size()),
          .index = static_cast<std::int32_t>(found - sorted.begin())};
}

PodSubset subset_of(std::size_t pods, const ActivatorPlace& place,
                    std::int32_t container_concurrency) {
  if (container_concurrency <= 0 || place.index < 0 || place.activators <= 1 || pods <= 1) {
    return {.first = 0, .count = pods};
  }
  const auto activators = static_cast<std::size_t>(place.activators);
  const auto index = static_cast<std::size_t>(place.index);
  if (activators > pods) {
    return {.first = index % pods, .count = 1};
  }
  const std::size_t slice = pods / activators;
  const std::size_t remainder = pods % activators;
  PodSubset subset{.first = index * slice, .count = slice};
  if (index < remainder) {
    subset.extra = pods - remainder + index;
  }
  return subset;
}

std::vector<std::string> assigned_of(std::vector<std::string> all, const ActivatorPlace& place,
                                     std::int32_t container_concurrency) {
  std::sort(all.begin(), all.end());
  const PodSubset subset = subset_of(all.size(), place, container_concurrency);
  std::vector<std::string> assigned;
  assigned.reserve(subset.size());
  for (std::size_t position = 0; position < all.size(); ++position) {
    if (subset.contains(position)) {
      assigned.push_back(std::move(all[position]));
    }
  }
  return assigned;
}

}  // namespace sluice::activator
