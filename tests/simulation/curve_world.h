#pragma once

#include "autoscaler/core/decision/revision_scaler.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"
#include "tests/simulation/properties.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::simulation {

/// A range of times.
struct Range {
  Duration from{0};
  Duration to{0};
};

/// At `at` since the start the clock of the scaler moves by `by`; the world does not notice.
struct ClockJump {
  Duration at{0};
  Duration by{0};
};

/// A revision whose load is a curve: no single requests, so days and thousands of pods are cheap.
/// Everything random comes from `seed`.
struct Curve {
  std::uint64_t seed = 1;
  autoscaler::ScalingSpec scaling;
  Duration length{std::chrono::hours{1}};     ///< of the load; what follows is quiet
  Duration quiet{std::chrono::minutes{10}};   ///< for the way to zero
  std::function<double(Duration)> load = {};  ///< requests in flight at a time since the start
  double requests_per_second = 2;             ///< for each request in flight
  Range start{std::chrono::seconds{1}, std::chrono::seconds{5}};
  double spread = 0.2;       ///< how far the load of a pod may lie from the mean, as a share
  double stat_loss = 0;      ///< share of per-second stats and scrapes that never arrive
  double failed_starts = 0;  ///< share of starts that end in death
  double deaths = 0;         ///< share of the ready pods that exits each second
  Duration healed{std::chrono::hours{24 * 365}};  ///< pods crash no more from here on
  Range deaf{};                                   ///< no stat arrives in this time
  std::vector<ClockJump> jumps = {};
  /// As on a cluster: requests pass by the activators in serve mode, so the last pod goes only
  /// after the grace period in proxy mode, and probes may fail.
  bool cluster = false;
  bool print = false;  ///< keep every decision in CurveOutcome::decisions
  /// Rules that the properties are checked against; absent: those of `scaling`.
  std::optional<autoscaler::ScalingSpec> watched_as = {};
  /// Is shown every decision with its time since the start.
  std::function<void(Duration, const autoscaler::ScaleState&)> watch = {};
};

/// The result of the run.
struct CurveOutcome {
  std::uint64_t evaluations = 0;
  std::uint64_t without_data = 0;  ///< evaluations that could not decide
  std::uint64_t panicking = 0;     ///< evaluations in panic
  std::uint64_t held = 0;          ///< evaluations in which the scale-down delay had the last word
  std::uint64_t limited = 0;       ///< evaluations in which a rate had the last word
  std::uint64_t deaths = 0;
  std::uint64_t wakes = 0;
  std::uint64_t sleeps = 0;
  std::int32_t pods_max = 0;
  std::int32_t want_at_end = 0;
  std::string breach;     ///< the first property that was broken, with its time; empty: none
  std::string decisions;  ///< all of them, printed, if the world wants it
};

/// One revision's scaler in a world of seconds: pods start and die, activators and pods report the
/// load, every other second is a tick. No clock, no thread.
class CurveWorld {
 public:
  explicit CurveWorld(Curve curve);

  [[nodiscard]] CurveOutcome run();

 private:
  void play_second();
  void jump();
  void start_pods(std::int32_t count);
  void stop_pods(std::int32_t count);
  void pods_become_ready();
  void pods_die();
  void arrive(double before);
  void report();
  void scrape();
  void evaluate(autoscaler::Trigger trigger);
  void count(const autoscaler::ScaleState& state, std::int32_t before);
  [[nodiscard]] bool deaf() const;
  [[nodiscard]] bool crashing() const;
  [[nodiscard]] std::int32_t starting() const;

  [[nodiscard]] TimePoint clock() const { return start_ + since_ + offset_; }

  [[nodiscard]] double chance();

  Curve curve_;
  std::mt19937_64 random_;
  TimePoint start_;
  Duration since_{0};   // true time since the start
  Duration offset_{0};  // what the scaler's clock is ahead of it
  std::size_t jumped_ = 0;
  autoscaler::RevisionScaler scaler_;
  Properties properties_;
  std::map<Duration, std::int32_t> starting_;  // pods by the time they are ready at
  std::int32_t ready_ = 0;
  double load_ = 0;
  bool known_ = false;  // the scaler has received a load since it was last zero
  autoscaler::RouteMode route_mode_ = autoscaler::RouteMode::proxy;
  Duration proxy_since_{0};
  CurveOutcome outcome_;
};

}  // namespace sluice::simulation
