#include "autoscaler/core/decision/revision_scaler.h"

#include "autoscaler/core/recording/recording.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

// Activators report every second: one that is connected and has said nothing of a revision for so
// long holds none of its requests, and one that is back for so long has said what it holds
// (autoscaler.md 16.2). As long as for silent pods, and longer than a start usually takes.
constexpr Duration kHoldsNothing = std::chrono::seconds{10};

// What an activator's stat counts began within so long before it, at most.
constexpr Duration kReported = std::chrono::seconds{1};

// The first request of a revision that was idle, told of by itself.
bool is_poke(const Stat& stat) {
  return stat.average_concurrency == 1 && stat.request_count == 1;
}

}  // namespace

RevisionScaler::RevisionScaler(RevisionScalerSpec spec, std::int32_t ready_at_start, TimePoint now)
    : spec_(spec.scaling),
      revision_(std::move(spec.revision)),
      collector_(spec_.decider),
      decider_(spec_.decider, ready_at_start, now),
      status_(spec_.decider),
      activity_since_(now),
      requested_(spec.taken_over),
      replicas_(spec.replicas.value_or(spec_.decider.initial_scale)),
      replicas_at_start_(replicas_),
      attention_(now, !spec.taken_over) {
  // Nothing was ever wanted: zero is known, so that the first request wakes it at once.
  if (replicas_ == 0) {
    status_.set_desired(0);
    activity_ = Activity::inactive;
  }
  // An initial scale of zero is reached by definition, whatever runs.
  initialized_ = spec_.decider.initial_scale == 0;
  last_.bounded = replicas_;
  last_.desired = status_.desired();
  last_.metric = spec_.decider.metric;
  last_.target = spec_.decider.target_value;
  last_.total = spec_.decider.total_value;
  last_.no_request_yet = !requested_;
  told_activity_ = activity_;
}

std::optional<TimePoint> RevisionScaler::slept_at() const {
  return told_to_sleep_ ? std::optional{slept_at_} : std::nullopt;
}

// What was in flight when the order came is still reported, and so is what began shortly before it;
// only a new request ends the sleep. Where the activator does not say when its newest began, in the
// second after the order the first request of an idle revision is one.
bool RevisionScaler::ends_sleep(const Stat& stat, TimePoint at,
                                std::optional<TimePoint> newest) const {
  if (newest) return *newest >= slept_at_;
  return stat.request_count > 0 && (at >= slept_at_ + kReported || is_poke(stat));
}

void RevisionScaler::note_requests(const Stat& stat) {
  requested_ = requested_ || stat.request_count > 0 || stat.average_concurrency > 0;
}

bool RevisionScaler::push(const Stat& stat, TimePoint at, std::optional<TimePoint> newest) {
  if (recording_ != nullptr) recording_->got(*this, StatInput{false, stat, at, newest});
  note_requests(stat);
  if (told_to_sleep_ && !ends_sleep(stat, at, newest)) return false;
  told_to_sleep_ = false;
  if (stat.request_count > 0) woken_by_hand_ = false;
  collector_.record(stat, at);
  return status_.pokes(stat.average_concurrency) ||
         (stat.average_concurrency != 0 && replicas_ == 0);
}

void RevisionScaler::scraped(const Stat& all, TimePoint at) {
  if (recording_ != nullptr) recording_->got(*this, StatInput{true, all, at});
  note_requests(all);
  if (told_to_sleep_) return;
  Stat counted = all;
  if (!attention_.activator_connected()) {
    // Only the activators report what came through them.
    counted.average_proxied_concurrency = 0;
    counted.proxied_request_count = 0;
  }
  collector_.record(counted, at);
}

// With no pod ready only activators could report, and one that is connected but reports nothing
// holds no requests. Without this rule a revision whose pods never become ready would keep its last
// number without a limit after its clients have left. A revision at zero gets no such zeros: they
// would dilute the first burst that wakes it.
void RevisionScaler::count_silence_as_zero(const ScaleInputs& inputs, TimePoint now) {
  if (!inputs.activator_connected || inputs.ready > 0 || status_.desired() <= 0) return;
  const TimePoint heard = std::max(collector_.newest().value_or(activity_since_), activity_since_);
  if (now - heard < kHoldsNothing || attention_.resumed_within(kHoldsNothing, now)) return;
  collector_.record(Stat{}, now);
}

// Unobserved time proves nothing: the Active condition and panic keep their age. After a step back
// the windows restart empty, since every current stat would be too old for them.
void RevisionScaler::notice_gap(const ScaleInputs& inputs, TimePoint now) {
  const Duration unobserved =
      attention_.evaluate(now, inputs.activator_connected, spec_.decider.stable_window);
  if (unobserved == Duration{0}) return;
  if (recording_ != nullptr) recording_->got(*this, ClockStepInput{now, unobserved});
  activity_since_ += unobserved;
  decider_.shift(unobserved, now);
  if (unobserved >= Duration{0}) return;
  collector_ = Collector{spec_.decider};
  slept_at_ = std::min(slept_at_, now);
}

// Silence never means zero (autoscaler.md 16.2): scraped pods always have something to say, and an
// activator that is not there, or has just come, says nothing about the requests it holds.
bool RevisionScaler::metrics_missing(const ScaleInputs& inputs, TimePoint now) const {
  if (!collector_.silent(spec_.decider, now)) return false;
  const bool scraped = spec_.decider.has_scrape_target && inputs.ready > 0;
  return scraped || !inputs.activator_connected || attention_.resumed_within(kHoldsNothing, now);
}

// Without a scrape target only activators speak, and an empty window is zero load as long as one is
// there to report it (autoscaler.md 16.2).
bool RevisionScaler::has_data(const ScaleInputs& inputs, bool empty, TimePoint now) const {
  if (!empty) return true;
  return !spec_.decider.has_scrape_target && inputs.activator_connected &&
         !attention_.resumed_within(kHoldsNothing, now);
}

DecisionRecord RevisionScaler::gather(const ScaleInputs& inputs,
                                      const Collector::Averages& averages, TimePoint now) const {
  const DeciderSpec& decider = spec_.decider;
  DecisionRecord record;
  record.time = now;
  record.revision = revision_;
  record.trigger = inputs.trigger;
  record.metric = decider.metric;
  record.target = decider.target_value;
  record.total = decider.total_value;
  record.ready = inputs.ready;
  record.panic_threshold = decider.panic_threshold;
  record.max_scale_up_rate = decider.max_scale_up_rate;
  record.max_scale_down_rate = decider.max_scale_down_rate;
  record.activation_scale = decider.activation_scale;
  record.stable_window = decider.stable_window;
  record.panic_window = decider.panic_window;
  record.scale_down_delay = decider.scale_down_delay;
  record.bounds = spec_.bounds;
  record.initial_scale = decider.initial_scale;
  record.told_to_sleep = told_to_sleep_;
  record.no_request_yet = !requested_;
  record.metrics_missing = metrics_missing(inputs, now);
  record.stable = averages.stable;
  record.panic = averages.panic;
  // Concurrency falls to zero with the last request; a rate does so while requests still run.
  record.in_flight = decider.metric == ScalingMetric::rps &&
                     collector_.averages(ScalingMetric::concurrency, now).stable > 0;
  return record;
}

Bound RevisionScaler::decide(DecisionRecord& record, const ScaleInputs& inputs,
                             const Collector::Averages& averages, TimePoint now) {
  if (record.metrics_missing) return Bound::no_data;
  const Decision decision = decider_.decide({.stable = averages.stable,
                                             .panic = averages.panic,
                                             .has_data = has_data(inputs, averages.empty, now),
                                             .ready = inputs.ready},
                                            now);
  status_.take(decision);
  record.valid = decision.valid;
  record.wanted_stable = decision.wanted_stable;
  record.wanted_panic = decision.wanted_panic;
  record.up_limit = decision.up_limit;
  record.down_limit = decision.down_limit;
  record.breach = decision.breach;
  return decision.bound_by;
}

ScalerPlan RevisionScaler::reconcile(const ScaleInputs& inputs, const DecisionRecord& record,
                                     TimePoint now) {
  // A change of the Active condition is itself a reason to look again, so zero is reached in the
  // same evaluation that finds the revision idle. Two rounds settle it: the second starts from a
  // fresh condition whose clock has not moved.
  ScalerPlan plan;
  for (int round = 0; round < 2; ++round) {
    // Never to zero with a request in flight: one is wanted, whatever the rate says.
    const bool kept = record.in_flight && status_.desired() == 0 && replicas_ > 0;
    plan = plan_scale(spec_, {.desired = kept ? 1 : status_.desired(),
                              .replicas = replicas_,
                              .activity = activity_,
                              .activity_for = now - activity_since_,
                              .initialized = initialized_,
                              .route_mode = route_mode_,
                              .proxy_for = inputs.proxy_for,
                              .probe_ok = inputs.probe_ok});
    if (kept && plan.bound_by == Bound::none) plan.bound_by = Bound::stable_window;
    hold_unproven(plan, inputs, record.metrics_missing);
    if (plan.write) replicas_ = *plan.write;
    route_mode_ = route_mode(plan.want, status_.excess_burst_capacity(), route_mode_,
                             spec_.burst_capacity_hysteresis);
    const ActivityChange change = next_activity(spec_, {.activity = activity_,
                                                        .initialized = initialized_,
                                                        .service_name_set = true,
                                                        .want = plan.want,
                                                        .ready = inputs.ready});
    initialized_ = change.initialized;
    if (change.activity == activity_) break;
    set_activity(change.activity, now);
  }
  return plan;
}

// Lowering needs a stable window of data, and zero needs data of this moment, of which idle pods
// are only half: an activator has to be connected that would report waiting requests (protocols.md
// 3, rule 7). Only pods that never became ready go without a stable window.
void RevisionScaler::hold_unproven(ScalerPlan& plan, const ScaleInputs& inputs,
                                   bool metrics_missing) const {
  const auto keep = [&plan, this](std::int32_t held, Bound bound) {
    plan.want = held;
    plan.write.reset();
    if (held != replicas_) plan.write = held;
    plan.bound_by = bound;
  };
  const std::int32_t held = bounded_scale(replicas_, {.min = 0, .max = spec_.bounds.max});
  if (plan.want < 0 || plan.want >= held) return;
  const bool unknown = metrics_missing || !inputs.activator_connected;
  if (unknown && plan.want == 0) return keep(held, Bound::no_data);
  if (attention_.settled() || plan.timed_out) return;
  keep(held, Bound::stable_window);
  plan.requeue = attention_.missing(spec_.decider.stable_window);
}

ScaleState RevisionScaler::evaluate(const ScaleInputs& inputs, TimePoint now) {
  if (recording_ != nullptr) recording_->evaluates(*this, now);
  notice_gap(inputs, now);
  if (replicas_ == 0) collector_.release_if_empty(now);
  count_silence_as_zero(inputs, now);

  const Collector::Averages averages = collector_.averages(spec_.decider.metric, now);
  DecisionRecord record = gather(inputs, averages, now);
  ScaleState state;
  if (told_to_sleep_) {
    record.valid = true;
  } else {
    record.decider_bound = decide(record, inputs, averages, now);
    attention_.conclude(record.valid, spec_.decider.stable_window);
    const ScalerPlan plan = reconcile(inputs, record, now);
    state.requeue = plan.requeue;
    state.probe = plan.probe && !inputs.probe_ok;
    state.probe_later = plan.probe_later;
    record.hold_left = plan.requeue;
    record.bound_by = record.decider_bound;
    if (plan.bound_by != Bound::none) record.bound_by = plan.bound_by;
    // Zero is decided and not proven: the activators have to take the traffic over first.
    if (plan.want == 0 && replicas_ > 0 && !plan.requeue) record.bound_by = Bound::grace;
    if (plan.want < 0 && record.valid && replicas_ > status_.desired()) {
      // On its way up while the windows already say zero: kept until it is ready, then a window
      // more.
      record.bound_by = Bound::stable_window;
      record.hold_left.reset();
    }
    // Nothing is said of a revision that sleeps, and nothing is missing.
    const bool asleep = replicas_ == 0 && status_.desired() == 0;
    if (asleep && record.bound_by == Bound::no_data) record.bound_by = Bound::none;
  }
  conclude(record, inputs, state);
  return state;
}

void RevisionScaler::conclude(DecisionRecord& record, const ScaleInputs& inputs,
                              ScaleState& state) {
  record.woken_by_hand = woken_by_hand_;
  record.takes_over = takes_over_;
  record.mode = decider_.mode();
  record.panic_entered = decider_.panic_entered();
  record.panic_until = decider_.panic_until();
  record.desired = status_.desired();
  record.bounded = replicas_;
  record.granted = replicas_;
  record.excess_burst_capacity = status_.excess_burst_capacity();
  record.route_mode = route_mode_;

  state.want = replicas_;
  state.activators =
      activator_count(inputs.ready, spec_.decider.total_value, spec_.decider.target_burst_capacity,
                      spec_.decider.activator_capacity);
  state.route_mode = route_mode_;
  state.activity = activity_;
  state.metrics_missing = record.metrics_missing;
  state.changed = replicas_ != last_.bounded || activity_ != told_activity_ ||
                  record.mode != last_.mode || record.route_mode != last_.route_mode;
  told_activity_ = activity_;
  last_ = record;
  if (recording_ != nullptr) recording_->evaluated(*this, EvalInput{inputs, record});
  state.record = std::move(record);
}

void RevisionScaler::set_activity(Activity activity, TimePoint now) {
  activity_ = activity;
  activity_since_ = now;
  if (activity == Activity::inactive) woken_by_hand_ = false;
}

void RevisionScaler::update(const ScalingSpec& scaling, TimePoint now) {
  if (recording_ != nullptr) recording_->got(*this, scaling, now);
  spec_ = scaling;
  collector_.update(spec_.decider, now);
  decider_.update(spec_.decider);
}

SavedScaler RevisionScaler::saved() const {
  return {.collector = collector_.saved(),
          .decider = decider_.saved(),
          .desired = status_.desired(),
          .excess_burst_capacity = status_.excess_burst_capacity(),
          .activity = activity_,
          .activity_since = activity_since_,
          .serves = route_mode_ == RouteMode::serve,
          .initialized = initialized_,
          .told_to_sleep = told_to_sleep_,
          .slept_at = slept_at_,
          .woken_by_hand = woken_by_hand_,
          .takes_over = takes_over_,
          .requested = requested_,
          .attention = attention_.saved()};
}

bool RevisionScaler::restore(const SavedScaler& saved, TimePoint now) {
  if (attention_.settled()) return false;
  const bool heard = collector_.newest().has_value();
  collector_.restore(saved.collector, now);
  // A rise shows a breach or a wake-up that the other did not see; its panic holds what started.
  const bool risen = replicas_ > replicas_at_start_;
  if (!risen) {
    decider_.restore(saved.decider);
    status_.restore(saved.desired, saved.excess_burst_capacity);
    activity_ = saved.activity;
    activity_since_ = saved.activity_since;
  }
  route_mode_ = saved.serves ? RouteMode::serve : RouteMode::proxy;
  initialized_ = initialized_ || saved.initialized;
  told_to_sleep_ = saved.told_to_sleep && !risen;
  slept_at_ = saved.slept_at;
  woken_by_hand_ = saved.woken_by_hand;
  takes_over_ = saved.takes_over;
  requested_ = saved.requested || heard;
  attention_.restore(saved.attention);
  told_activity_ = activity_;
  last_.bounded = replicas_;
  last_.mode = decider_.mode();
  last_.route_mode = route_mode_;
  return true;
}

void RevisionScaler::set_bounds(std::optional<std::int32_t> min, std::optional<std::int32_t> max) {
  if (recording_ != nullptr) recording_->got(*this, BoundsInput{min, max});
  spec_.bounds.min = min.value_or(spec_.bounds.min);
  spec_.bounds.max = max.value_or(spec_.bounds.max);
}

void RevisionScaler::note_time(TimePoint now) {
  if (now >= slept_at_) return;
  if (recording_ != nullptr) recording_->got(*this, ClockStepInput{now, Duration{0}});
  slept_at_ = now;
}

void RevisionScaler::wake(TimePoint now, bool takes_over) {
  if (recording_ != nullptr) recording_->got(*this, WakeInput{now, takes_over});
  told_to_sleep_ = false;
  woken_by_hand_ = true;
  takes_over_ = takes_over;
  if (status_.desired() < 1) status_.set_desired(1);
  if (activity_ == Activity::inactive) set_activity(Activity::activating, now);
  // For an awake one the stable window restarts: a wake means that it is wanted now.
  if (activity_ == Activity::active) activity_since_ = now;
  replicas_ = std::max(replicas_, std::max(1, spec_.bounds.min));
}

void RevisionScaler::sleep(TimePoint now) {
  if (recording_ != nullptr) recording_->got(*this, SleepInput{now});
  told_to_sleep_ = true;
  slept_at_ = now;
  attention_.settle();
  collector_ = Collector{spec_.decider};
  decider_ = Decider{spec_.decider, 0, now};
  status_ = DeciderStatus{spec_.decider};
  status_.set_desired(0);
  set_activity(Activity::inactive, now);
  route_mode_ = RouteMode::proxy;
  replicas_ = 0;
}

}  // namespace sluice::autoscaler
