#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "autoscaler/core/view/latency_window.h"
#include "common/time/time_point.h"

#include <cstdint>

namespace sluice::local {

/// The requests of a revision between two looks: how many came, and how long replicas took for
/// those that ended. In the buckets of LatencyCounts.
class ServiceTimes {
 public:
  /// A request has ended on a replica that took so long for it.
  void served(Duration took) {
    counts_.record(took);
    ++ended_;
  }

  /// A request has ended that no replica had.
  void refused() { ++ended_; }

  /// What there was since the last call; `held` and `in_flight` are those of now.
  [[nodiscard]] autoscaler::TrafficNote take(TimePoint now, std::int64_t held,
                                             std::int64_t in_flight);

 private:
  autoscaler::LatencyCounts counts_;
  std::int64_t ended_ = 0;
  std::int64_t present_ = 0;  // held and in flight at the last call
};

}  // namespace sluice::local
