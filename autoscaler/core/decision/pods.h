#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// How far a pod has come. Finished and lost pods are `other`.
enum class PodPhase { pending, running, other };

/// One pod of a revision as the platform reports it.
struct Pod {
  PodId id;
  std::string address;  ///< where it answers a scrape; kept as given
  PodPhase phase = PodPhase::pending;
  bool ready = false;        ///< its Ready condition is True
  bool terminating = false;  ///< its stop has begun
  bool throttled = false;    ///< its node slows it under memory pressure: no new requests for it
  std::optional<TimePoint> started_at;  ///< absent: not known, as good as just now
};

/// Addresses of the pods worth asking for a stat (autoscaler.md 1.4). Old ones, which have run for
/// a stable window, are preferred: a young one still warms up, and its stats mean little.
struct ScrapeCandidates {
  std::vector<std::string> old;
  std::vector<std::string> young;

  friend bool operator==(const ScrapeCandidates&, const ScrapeCandidates&) = default;
};

[[nodiscard]] ScrapeCandidates scrape_candidates(std::span<const Pod> pods, Duration stable_window,
                                                 TimePoint now);

}  // namespace sluice::autoscaler
