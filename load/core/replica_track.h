#pragma once

#include "load/core/histogram.h"
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// What the engine did while the load ran, on the load's own time axis. Times are offsets from the
/// start of the run; what came before counts as 0.
class ReplicaTrack {
 public:
  static constexpr std::size_t kPointsMax = 10'000;
  static constexpr std::size_t kReplicasMax = 10'000;

  struct Point {
    Duration at{0};
    std::size_t ready = 0;

    friend bool operator==(const Point&, const Point&) = default;
  };

  struct ColdStart {
    Duration at{0};
    Duration total{0};
    std::string replica;
  };

  struct Panic {
    Duration from{0};
    Duration to{0};  ///< so far, while it lasts
  };

  /// An engine answers for `service`; without this the track stays empty.
  void join(std::string service) { service_ = std::move(service); }

  [[nodiscard]] bool joined() const { return !service_.empty(); }

  [[nodiscard]] const std::string& service() const { return service_; }

  /// Replica `id` became, or is no longer, ready.
  void replica(Duration at, std::string_view id, bool ready);
  void cold_start(Duration at, Duration total, std::string_view replica);
  /// A decision was made in panic mode, or not.
  void decision(Duration at, bool panic);
  /// The run is over: a panic that still lasts ends here.
  void finish(Duration at);
  /// The run begins: what was seen before is forgotten, but for the replicas ready now, which are
  /// the first point, and a panic that lasts.
  void begin();

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

  [[nodiscard]] const std::vector<ColdStart>& cold_starts() const { return cold_starts_; }

  [[nodiscard]] const Histogram& cold_start_times() const { return cold_start_times_; }

  [[nodiscard]] const std::vector<Panic>& panics() const { return panics_; }

  [[nodiscard]] std::size_t ready_now() const { return ready_.size(); }

  [[nodiscard]] std::size_t ready_max() const;
  /// The replicas, cold starts and panics of several services as if they were one; a service that
  /// two tracks follow counts once. Of one track itself.
  [[nodiscard]] static ReplicaTrack merged(std::span<const ReplicaTrack> tracks);

  /// Replicas ready at `at`.
  [[nodiscard]] std::size_t ready_at(Duration at) const;
  /// The sum over all replicas of the time that each was ready up to `until`, in seconds.
  [[nodiscard]] double replica_seconds(Duration until) const;
  /// From `quiet`, the end of the last request, to no replica ready; nothing while some is.
  [[nodiscard]] std::optional<Duration> time_to_zero(Duration quiet) const;

 private:
  void note(Duration at);

  std::string service_;
  std::set<std::string, std::less<>> ready_;
  std::vector<Point> points_;
  std::vector<ColdStart> cold_starts_;
  Histogram cold_start_times_;
  std::vector<Panic> panics_;
  bool panicking_ = false;
};

}  // namespace sluice::loadgen
