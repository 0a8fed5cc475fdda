#pragma once

#include "load/core/histogram.h"
#include "load/core/scaling_rows.h"
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::loadgen {

/// What the engine did while the load ran, on the load's own time axis. Times are offsets from the
/// start of the run; what came before counts as 0.
class ReplicaTrack {
 public:
  static constexpr std::size_t kPointsMax = 10'000;
  static constexpr std::size_t kReplicasMax = 10'000;
  static constexpr std::size_t kWhyBytesMax = 300;

  struct Point {
    Duration at{0};
    std::size_t ready = 0;

    friend bool operator==(const Point&, const Point&) = default;
  };

  struct ColdStart {
    Duration at{0};
    Duration total{0};
    std::string replica;
    /// In order, in milliseconds: `queue decide create start ready first_byte`.
    std::vector<std::pair<std::string, double>> phases_ms = {};
    std::string service = {};
  };

  /// A decision that changed how many replicas are wanted, or the mode.
  struct Decision {
    Duration at{0};
    double from = 0;
    double to = 0;
    bool panic = false;
    std::string why;
    std::string service = {};
  };

  struct Panic {
    Duration from{0};
    Duration to{0};  ///< so far, while it lasts
  };

  /// An engine answers for `service`; without this the track stays empty.
  void join(std::string service, std::string space = {}) {
    service_ = std::move(service);
    space_ = std::move(space);
  }

  /// Whether this is the track of that service; a namespace that one does not name is any.
  [[nodiscard]] bool is_of(std::string_view service, std::string_view space) const {
    return service_ == service && (space.empty() || space_.empty() || space_ == space);
  }

  [[nodiscard]] const std::string& space() const { return space_; }

  [[nodiscard]] bool joined() const { return !service_.empty(); }

  [[nodiscard]] const std::string& service() const { return service_; }

  /// Replica `id` became, or is no longer, ready.
  void replica(Duration at, std::string_view id, bool ready);

  /// From now on replica() is called at each change, so that counted() has no effect.
  void replicas_are_told() { replicas_told_ = true; }

  /// So many replicas are ready, where no more than that is known of them.
  void counted(Duration at, std::size_t ready);
  /// Replica `id` began, or has ended, to drain.
  void drain(Duration at, std::string_view id, bool draining);
  void cold_start(Duration at, Duration total, std::string_view replica,
                  std::vector<std::pair<std::string, double>> phases_ms = {});
  /// A decision was made in panic mode, or not.
  void decision(Duration at, bool panic);
  /// So many replicas are wanted, for that reason. decision() sets its mode before.
  void desire(Duration at, double desired, std::string_view why);

  /// A figure of the engine is so.
  void set(Duration at, Scaling what, double value) { scaling_.set(at, what, value); }

  /// The run is over: a panic that still lasts ends here.
  void finish(Duration at);
  /// The run begins: what was seen before is forgotten, but for the replicas ready now, which are
  /// the first point, and a panic that lasts.
  void begin();

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

  [[nodiscard]] const std::vector<ColdStart>& cold_starts() const { return cold_starts_; }

  [[nodiscard]] const Histogram& cold_start_times() const { return cold_start_times_; }

  [[nodiscard]] const std::vector<Panic>& panics() const { return panics_; }

  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }

  [[nodiscard]] const ScalingRows& scaling() const { return scaling_; }

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
  std::string space_;
  bool replicas_told_ = false;
  std::set<std::string, std::less<>> ready_;
  std::set<std::string, std::less<>> draining_;
  std::vector<Point> points_;
  std::vector<ColdStart> cold_starts_;
  Histogram cold_start_times_;
  std::vector<Panic> panics_;
  bool panicking_ = false;
  std::vector<Decision> decisions_;
  bool decided_in_panic_ = false;
  ScalingRows scaling_;
};

}  // namespace sluice::loadgen
