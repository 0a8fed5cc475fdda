#pragma once

#include "common/metrics/histogram.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::activator {

/// Requests already waiting in a queue when one joins.
inline constexpr metrics::Buckets<12> kDepths{
    {0, 1, 3, 10, 30, 100, 300, 1'000, 3'000, 10'000, 30'000, 100'000},
    {"0", "1", "3", "10", "30", "100", "300", "1000", "3000", "10000", "30000", "100000"},
    1};

/// What the gateway counts for metrics, of all revisions together.
struct FrontCounts {
  /// Index of the histograms below: whether there was a pod when the request came.
  enum Start : std::size_t { warm, cold };

  static constexpr std::size_t kStarts = 2;

  std::array<metrics::Histogram<14>, kStarts> wait{};   ///< for a pod; kSeconds
  std::array<metrics::Histogram<12>, kStarts> depth{};  ///< kDepths
  std::array<std::uint64_t, 3> retries{};               ///< by PodRefusal
  std::array<std::uint64_t, 4> choices{};               ///< by BalancingPolicy
  std::uint64_t ignored = 0;                            ///< counted nowhere else for scaling
  std::uint64_t probes = 0;                             ///< answered here
  std::uint64_t unrouted = 0;                           ///< requests that named no revision
  std::uint64_t unread = 0;                             ///< requests that could not be read
};

}  // namespace sluice::activator
