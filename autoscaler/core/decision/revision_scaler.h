#pragma once

#include "autoscaler/core/decision/attention.h"
#include "autoscaler/core/decision/collector.h"
#include "autoscaler/core/decision/decider.h"
#include "autoscaler/core/decision/decision_record.h"
#include "autoscaler/core/decision/saved_state.h"
#include "autoscaler/core/decision/scale_to_zero.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::autoscaler {

class Recording;

/// A scaler, without its spec and the platform's facts.
struct SavedScaler {
  SavedCollector collector{};
  SavedDecider decider{};
  std::int32_t desired = -1;
  std::int32_t excess_burst_capacity = 0;
  Activity activity = Activity::activating;
  TimePoint activity_since{};
  bool serves = false;  ///< the route mode
  bool initialized = false;
  bool told_to_sleep = false;
  TimePoint slept_at{};  ///< when, if so
  bool woken_by_hand = false;
  bool takes_over = false;
  bool requested = true;  ///< a request was reported since it is governed
  SavedAttention attention{};

  friend bool operator==(const SavedScaler&, const SavedScaler&) = default;
};

/// What a RevisionScaler is made with.
struct RevisionScalerSpec {
  ScalingSpec scaling;
  std::string revision;  ///< its name, copied into every record
  /// Replicas the platform runs or starts for it already; absent: the initial scale.
  std::optional<std::int32_t> replicas;
  /// Another autoscaler governed them until now: known numbers lower them only to the maximum
  /// before there was a stable window of valid evaluations (autoscaler.md 16.3).
  bool taken_over = false;
};

/// The inputs of an evaluation beside the stats.
struct ScaleInputs {
  Trigger trigger = Trigger::tick;
  std::int32_t ready = 0;  ///< pods that pass their probe and are not going away
  /// How long traffic has been going through activators. Duration::max(), the default, fits one
  /// machine, where the front door is the activator and the last replica goes without further
  /// grace.
  std::optional<Duration> proxy_for = Duration::max();
  /// The activator's answer to the probe that a state requested; absent: not probed yet. True, the
  /// default, fits one machine too.
  std::optional<bool> probe_ok = true;
  bool activator_connected = true;  ///< an activator would report waiting requests
};

/// What follows from an evaluation.
struct ScaleState {
  DecisionRecord record;
  std::int32_t want = 0;        ///< replicas the platform should run; full desired state, never -1
  std::int32_t activators = 2;  ///< size of the activator subset
  RouteMode route_mode = RouteMode::proxy;
  std::optional<Duration> requeue;  ///< evaluate again after this long, at the latest
  Activity activity = Activity::inactive;
  bool probe = false;        ///< zero depends on the activator: probe it, evaluate with its answer
  bool probe_later = false;  ///< the probe failed: keep probing, then evaluate again
  bool metrics_missing = false;  ///< silence: the last answer stays (autoscaler.md 16.2)
  bool changed = false;          ///< want, mode, route or activity differ from the last state
};

/// The scaling of one revision from stats to replicas: gather (windows, ready pods), decide,
/// publish. Joins the collector, the decider, the way to zero and the Active condition; used by the
/// engine on one machine and by the simulation, which call evaluate() every 2 s, and at once when
/// push() returns true.
class RevisionScaler {
 public:
  RevisionScaler(RevisionScalerSpec spec, std::int32_t ready_at_start, TimePoint now);

  /// A stat of an activator, and when its newest request began if the activator reports it. True
  /// when evaluate() must follow at once: there are requests and no pod serves.
  [[nodiscard]] bool push(const Stat& stat, TimePoint at, std::optional<TimePoint> newest = {});

  /// What a scrape said of all ready pods.
  void scraped(const Stat& all, TimePoint at);

  [[nodiscard]] ScaleState evaluate(const ScaleInputs& inputs, TimePoint now);

  /// A changed spec applies live; bounds set by set_bounds are forgotten.
  void update(const ScalingSpec& scaling, TimePoint now);

  /// Replaces the given bounds until the next update (`sluice scale`).
  void set_bounds(std::optional<std::int32_t> min, std::optional<std::int32_t> max);

  /// At least one replica from now on, for a stable window after it is ready (`sluice wake`).
  /// `takes_over`: as a new revision.
  void wake(TimePoint now, bool takes_over = false);

  /// No replicas from now on, whatever the windows and the minimum require, until the next request
  /// or wake() (`sluice sleep`).
  void sleep(TimePoint now);

  /// When it was put to sleep by hand; absent: it was not, or a request has come since.
  [[nodiscard]] std::optional<TimePoint> slept_at() const;

  /// The clock shows `now`, before what follows from it: after a step back no order to sleep lies
  /// in the future, where it would outlast requests that come after it.
  void note_time(TimePoint now);

  /// All that cannot be read from the spec and the platform.
  [[nodiscard]] SavedScaler saved() const;

  /// Continues where the one that saved it left off; evaluate() should follow. What was recorded
  /// here since stays, replicas are those of the platform, and a rise that was decided here
  /// meanwhile is not taken back. False: there was a stable window of evaluations here, which knows
  /// more.
  bool restore(const SavedScaler& saved, TimePoint now);

  /// Tells each input from now on; null: no longer. `recording` outlives this.
  void record_to(Recording* recording) { recording_ = recording; }

  [[nodiscard]] const ScalingSpec& spec() const { return spec_; }

  [[nodiscard]] std::int32_t want() const { return replicas_; }

  [[nodiscard]] Activity activity() const { return activity_; }

  /// The last record; its time is the epoch before the first evaluation.
  [[nodiscard]] const DecisionRecord& last() const { return last_; }

 private:
  void note_requests(const Stat& stat);
  [[nodiscard]] bool ends_sleep(const Stat& stat, TimePoint at,
                                std::optional<TimePoint> newest) const;
  void notice_gap(const ScaleInputs& inputs, TimePoint now);
  void conclude(DecisionRecord& record, const ScaleInputs& inputs, ScaleState& state);
  [[nodiscard]] DecisionRecord gather(const ScaleInputs& inputs,
                                      const Collector::Averages& averages, TimePoint now) const;
  [[nodiscard]] Bound decide(DecisionRecord& record, const ScaleInputs& inputs,
                             const Collector::Averages& averages, TimePoint now);
  [[nodiscard]] ScalerPlan reconcile(const ScaleInputs& inputs, const DecisionRecord& record,
                                     TimePoint now);
  [[nodiscard]] bool metrics_missing(const ScaleInputs& inputs, TimePoint now) const;
  [[nodiscard]] bool has_data(const ScaleInputs& inputs, bool empty, TimePoint now) const;
  void hold_unproven(ScalerPlan& plan, const ScaleInputs& inputs, bool metrics_missing) const;
  void set_activity(Activity activity, TimePoint now);
  void count_silence_as_zero(const ScaleInputs& inputs, TimePoint now);

  ScalingSpec spec_;
  std::string revision_;
  Collector collector_;
  Decider decider_;
  DeciderStatus status_;
  Activity activity_ = Activity::activating;
  TimePoint activity_since_;
  RouteMode route_mode_ = RouteMode::proxy;
  bool initialized_ = false;
  bool told_to_sleep_ = false;
  TimePoint slept_at_{};
  bool woken_by_hand_ = false;
  bool takes_over_ = false;
  bool requested_;  // a request was reported, here or where it was governed before
  std::int32_t replicas_;
  std::int32_t replicas_at_start_;
  Attention attention_;
  Activity told_activity_ = Activity::activating;  // in the last state
  DecisionRecord last_;
  Recording* recording_ = nullptr;  // the owner's
};

}  // namespace sluice::autoscaler
