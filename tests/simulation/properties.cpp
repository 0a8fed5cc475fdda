#include "tests/simulation/properties.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sluice::simulation {

using autoscaler::Activity;
using autoscaler::Mode;

namespace {

constexpr Duration kSlot = std::chrono::seconds{2};
// Less is not a jump: stats and ticks may overtake each other.
constexpr Duration kStepBackMax = std::chrono::seconds{2};
constexpr Duration kGap = std::chrono::seconds{10};

std::string over(const char* what, double value, double limit) {
  return std::string(what) + ": " + std::to_string(value) + " against " + std::to_string(limit);
}

}  // namespace

Properties::Properties(const autoscaler::ScalingSpec& spec, std::int32_t ready, TimePoint start)
    : spec_(spec),
      evaluated_(start),
      active_since_(start),
      desired_(ready),
      panicking_(ready > 1),
      peak_(ready > 1 ? ready : 0) {
  if (panicking_) breached_ = start;
}

std::string Properties::check(const autoscaler::ScaleState& state, const Circumstances& world) {
  const autoscaler::DecisionRecord& record = state.record;
  follow_clock(record.time);
  std::string broken = check_bounds(state);
  std::string zero = check_zero(state, world);
  if (broken.empty()) broken = std::move(zero);
  if (!record.valid) {
    if (broken.empty() && known_ && record.desired != desired_) {
      return over("an answer without data", record.desired, desired_);
    }
    return broken;
  }
  const Limits now = limits(record);
  if (broken.empty()) broken = check_rates(record, now);
  for (std::string found : {check_panic(record, now), check_delay(record, now)}) {
    if (broken.empty()) broken = std::move(found);
  }
  desired_ = record.desired;
  known_ = true;
  return broken;
}

// When the clock jumps, ages stay what they were at the last evaluation, or what they could be at
// most by an ordinary one, and what the delay holds counts as answered now.
void Properties::follow_clock(TimePoint now) {
  const Duration step = now - evaluated_;
  evaluated_ = now;
  const Duration gap = std::max(std::min(kGap, spec_.decider.stable_window / 2), 2 * kSlot);
  if (step >= -kStepBackMax && step <= gap) return;
  const Duration unobserved = step < Duration{0} ? step : step - gap;
  for (Answer& answer : answers_) answer.slot = now.time_since_epoch() / kSlot;
  if (breached_) *breached_ += unobserved;
  active_since_ += unobserved;
}

Properties::Limits Properties::limits(const autoscaler::DecisionRecord& record) const {
  const autoscaler::DeciderSpec& spec = spec_.decider;
  const double pods = std::max(1, record.ready);
  const double stable = std::ceil(record.stable / spec.target_value);
  const double panic = std::ceil(record.panic / spec.target_value);
  Limits found{.up = std::ceil(spec.max_scale_up_rate * pods),
               .down = spec.reachable ? std::floor(pods / spec.max_scale_down_rate) : 0,
               .breach = panic / pods >= spec.panic_threshold};
  const auto rated = [&](double wanted) {
    const double within = std::min(std::max(wanted, found.down), found.up);
    const double floor = spec.activation_scale > 1 && wanted > 0 ? spec.activation_scale : 0;
    return static_cast<std::int32_t>(std::max(within, floor));
  };
  found.stable = rated(stable);
  found.panic = rated(panic);
  return found;
}

std::string Properties::check_bounds(const autoscaler::ScaleState& state) const {
  const autoscaler::Bounds& bounds = spec_.bounds;
  if (state.want < bounds.min) return over("below the minimum", state.want, bounds.min);
  if (bounds.max > 0 && state.want > bounds.max) {
    return over("above the maximum", state.want, bounds.max);
  }
  return "";
}

std::string Properties::check_zero(const autoscaler::ScaleState& state,
                                   const Circumstances& world) {
  const bool was_active = activity_ == Activity::active;
  activity_ = state.activity;
  if (!was_active && activity_ == Activity::active) active_since_ = state.record.time;
  if (world.want_before == 0 || state.want > 0) return "";
  if (world.in_flight > 0) {
    return "zero replicas with " + std::to_string(world.in_flight) + " requests in flight";
  }
  const Duration active = state.record.time - active_since_;
  if (was_active && active < spec_.decider.stable_window) {
    return over("zero replicas too soon", to_seconds(active),
                to_seconds(spec_.decider.stable_window));
  }
  return "";
}

// What is held, by panic or by the delay, was once within the rates; so it is the rise that they
// limit, whatever holds.
std::string Properties::check_rates(const autoscaler::DecisionRecord& record,
                                    const Limits& limits) const {
  const bool woken = record.stable > 0 || record.panic > 0;
  const double floor = woken ? spec_.decider.activation_scale : 0;
  const double most = std::max({limits.up, floor, 1.0});
  if (record.desired > desired_ && record.desired > most) {
    return over("rises faster than the rate", record.desired, most);
  }
  const double least = std::min(limits.down, limits.up);
  if (record.desired < least) return over("falls faster than the rate", record.desired, least);
  return "";
}

std::string Properties::check_panic(const autoscaler::DecisionRecord& record,
                                    const Limits& limits) {
  const bool was = panicking_;
  panicking_ = record.mode == Mode::panic;
  const bool recent = breached_ && *breached_ + spec_.decider.stable_window >= record.time;
  if (limits.breach) breached_ = record.time;
  if (panicking_ && !was && !limits.breach) return "panics below the threshold";
  if (!panicking_ && limits.breach) return "stays calm above the threshold";
  if (!panicking_ && was && recent) return "leaves panic within a stable window of a breach";
  if (panicking_ && was && !recent && !limits.breach) return "panics longer than a stable window";

  if (!panicking_) {
    peak_ = 0;
    return "";
  }
  peak_ = std::max({was ? peak_ : 0, limits.stable, limits.panic});
  if (record.desired < peak_) return over("falls during panic", record.desired, peak_);
  const bool delayed = spec_.decider.scale_down_delay > Duration{0};
  if (was && !delayed && record.desired < desired_) {
    return over("falls during panic", record.desired, desired_);
  }
  return "";
}

std::string Properties::check_delay(const autoscaler::DecisionRecord& record,
                                    const Limits& limits) {
  const Duration delay = spec_.decider.scale_down_delay;
  const std::int32_t undelayed = panicking_ ? peak_ : limits.stable;
  if (delay <= Duration{0} || !spec_.decider.reachable) {
    if (record.desired != undelayed) return over("is held by nothing", record.desired, undelayed);
    return "";
  }
  const std::int64_t slots = (delay + kSlot - Duration{1}) / kSlot;
  std::int64_t slot = record.time.time_since_epoch() / kSlot;
  if (!answers_.empty()) slot = std::max(slot, answers_.back().slot);
  answers_.push_back({slot, limits.stable, undelayed});
  while (slot - answers_.front().slot >= slots) answers_.pop_front();

  std::int32_t rated = 0;
  std::int32_t held = 0;
  for (const Answer& answer : answers_) {
    rated = std::max(rated, answer.rated);
    held = std::max(held, answer.undelayed);
  }
  if (record.desired < rated) return over("falls before the delay is over", record.desired, rated);
  if (record.desired > held) return over("is held longer than the delay", record.desired, held);
  return "";
}

std::string printed(const autoscaler::ScaleState& state) {
  const autoscaler::DecisionRecord& record = state.record;
  char line[320];
  std::snprintf(line, sizeof line,
                "%lld %d %d %a %a ready %d wanted %d %d limits %d %d mode %d desired %d want %d by "
                "%d %d burst %d route %d activity %d activators %d\n",
                static_cast<long long>(record.time.time_since_epoch().count()),
                static_cast<int>(record.trigger), static_cast<int>(record.valid), record.stable,
                record.panic, record.ready, record.wanted_stable, record.wanted_panic,
                record.down_limit, record.up_limit, static_cast<int>(record.mode), record.desired,
                state.want, static_cast<int>(record.decider_bound),
                static_cast<int>(record.bound_by), record.excess_burst_capacity,
                static_cast<int>(state.route_mode), static_cast<int>(state.activity),
                state.activators);
  return line;
}

}  // namespace sluice::simulation
