#pragma once

#include "autoscaler/core/recording/recorded_input.h"
#include "autoscaler/core/view/latency_window.h"
#include "common/time/time_point.h"

#include <array>
#include <cstdint>
#include <memory>

namespace sluice::local {

/// The requests of a revision between two looks: how many came, how long those that ended had
/// waited for a replica, and how long it took for them. In the buckets of LatencyCounts.
class ServiceTimes {
 public:
  /// A request that came at `arrived` has ended on a replica that took so long for it, and was
  /// taken after `waited`.
  void served(TimePoint arrived, Duration took, Duration waited);

  /// A request has ended that no replica had.
  void refused() { ++ended_; }

  /// What there was since the last call; `held` and `in_flight` are those of now.
  [[nodiscard]] autoscaler::TrafficNote take(TimePoint now, std::int64_t held,
                                             std::int64_t in_flight);

 private:
  struct Counts {
    autoscaler::LatencyCounts took;
    Duration took_total{0};
    autoscaler::LatencyCounts waited;  // at all
    std::array<std::uint32_t, 10> tenths = {};
  };

  std::unique_ptr<Counts> counts_;  // null: it has served none yet
  TimePoint since_{};               // the last call
  std::int64_t ended_ = 0;
  std::int64_t present_ = 0;  // held and in flight at the last call
};

}  // namespace sluice::local
