#include "autoscaler/core/decision/decider.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::autoscaler {
namespace {

constexpr std::int32_t kActivatorsMin = 2;

// A double as pods. Beyond 32 bits, and for a NaN that a configuration let in, the nearest sane
// number.
std::int32_t whole(double value) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int32_t>::min();
  if (std::isnan(value)) return 0;
  if (value >= static_cast<double>(kMost)) return kMost;
  if (value <= static_cast<double>(kLeast)) return kLeast;
  return static_cast<std::int32_t>(value);
}

// The upper limit wins over the lower one.
double limited(double wanted, double down, double up) {
  return std::min(std::max(wanted, down), up);
}

std::int32_t initial_excess(const DeciderSpec& spec) {
  const double burst = spec.target_burst_capacity;
  if (burst == 0 || burst == -1) return whole(burst);
  // Truncated where every later value is floored: the reference's, kept.
  return whole(spec.initial_scale * spec.total_value - burst);
}

}  // namespace

Decider::Decider(const DeciderSpec& spec, std::int32_t ready_pods, TimePoint now)
    : spec_(spec), peak_pods_(ready_pods) {
  if (ready_pods > 1) {
    panic_since_ = now;
    panic_entered_ = now;
  }
  if (spec.scale_down_delay > Duration{0}) delay_.emplace(spec.scale_down_delay);
}

std::optional<TimePoint> Decider::panic_until() const {
  if (!panic_since_) return std::nullopt;
  return *panic_since_ + spec_.stable_window;
}

void Decider::shift(Duration by, TimePoint now) {
  if (panic_since_) *panic_since_ += by;
  if (panic_entered_) *panic_entered_ += by;
  if (delay_) delay_->carry_to(now);
}

SavedDecider Decider::saved() const {
  SavedDecider saved{panic_since_, panic_entered_, peak_pods_};
  if (delay_) saved.delay = delay_->saved();
  return saved;
}

void Decider::restore(const SavedDecider& saved) {
  panic_since_ = saved.panic_since;
  panic_entered_ = saved.panic_entered;
  peak_pods_ = saved.peak_pods;
  delay_.reset();
  if (saved.delay) delay_.emplace(*saved.delay);
}

void Decider::follow_panic(bool breach, TimePoint now) {
  if (breach) {
    if (!panic_since_) panic_entered_ = now;
    panic_since_ = now;
  } else if (panic_since_ && *panic_since_ + spec_.stable_window < now) {
    panic_since_.reset();
    panic_entered_.reset();
    peak_pods_ = 0;
  }
}

std::int32_t Decider::excess_burst_capacity(std::int32_t ready, double panic) const {
  const double burst = spec_.target_burst_capacity;
  if (burst == 0) return 0;
  if (!(burst > 0)) return -1;
  return whole(std::floor(ready * spec_.total_value - burst - panic));
}

Decision Decider::decide(const Observation& seen, TimePoint now) {
  Decision decision;
  decision.mode = mode();
  decision.bound_by = Bound::no_data;
  if (!seen.ready || !seen.has_data) return decision;

  const double pods = std::max(1, *seen.ready);
  const double up = std::ceil(spec_.max_scale_up_rate * pods);
  const double down = spec_.reachable ? std::floor(pods / spec_.max_scale_down_rate) : 0;
  // Round up, never to nearest: 10.1 requests need an eleventh slot, and a pod we did not need
  // costs less than a request that waits for one.
  const double stable = std::ceil(seen.stable / spec_.target_value);
  const double panic = std::ceil(seen.panic / spec_.target_value);
  // A NaN that a configuration was allowed to contain decides nothing.
  if (std::isnan(stable) || std::isnan(panic)) return decision;
  std::int32_t stable_pods = whole(limited(stable, down, up));
  std::int32_t panic_pods = whole(limited(panic, down, up));
  const std::int32_t rated_stable = stable_pods;
  const std::int32_t rated_panic = panic_pods;
  if (spec_.activation_scale > 1) {
    if (stable > 0) stable_pods = std::max(stable_pods, spec_.activation_scale);
    if (panic > 0) panic_pods = std::max(panic_pods, spec_.activation_scale);
  }

  // The threshold looks at what is wanted before any limit.
  decision.breach = panic / pods >= spec_.panic_threshold;
  follow_panic(decision.breach, now);
  decision.mode = mode();

  const bool panicking = decision.mode == Mode::panic;
  const std::int32_t wanted = panicking ? std::max(whole(stable), whole(panic)) : whole(stable);
  const std::int32_t rated = panicking ? std::max(rated_stable, rated_panic) : rated_stable;
  std::int32_t pods_now = panicking ? std::max(stable_pods, panic_pods) : stable_pods;
  Bound bound = Bound::none;
  if (rated != wanted) bound = rated < wanted ? Bound::scale_up_rate : Bound::scale_down_rate;
  if (pods_now != rated) bound = Bound::activation_scale;
  if (panicking) {
    if (peak_pods_ > pods_now) bound = Bound::panic_hold;
    peak_pods_ = std::max(peak_pods_, pods_now);
    pods_now = peak_pods_;
  }
  if (spec_.reachable && delay_) {
    delay_->record(now, pods_now);
    if (delay_->current() != pods_now) bound = Bound::scale_down_delay;
    pods_now = delay_->current();
  }

  decision.valid = true;
  decision.desired = pods_now;
  decision.excess_burst_capacity = excess_burst_capacity(*seen.ready, seen.panic);
  decision.bound_by = bound;
  decision.wanted_stable = whole(stable);
  decision.wanted_panic = whole(panic);
  decision.up_limit = whole(up);
  decision.down_limit = whole(down);
  return decision;
}

DeciderStatus::DeciderStatus(const DeciderSpec& spec)
    : excess_burst_capacity_(initial_excess(spec)) {}

bool DeciderStatus::take(const Decision& decision) {
  if (!decision.valid) return false;
  const bool sign_changed = (decision.excess_burst_capacity < 0) != (excess_burst_capacity_ < 0);
  const bool informed = decision.desired != desired_ || sign_changed;
  desired_ = decision.desired;
  excess_burst_capacity_ = decision.excess_burst_capacity;
  return informed;
}

std::int32_t bounded_scale(std::int32_t desired, const Bounds& bounds) {
  if (desired < bounds.min) return bounds.min;
  if (bounds.max != 0 && desired > bounds.max) return bounds.max;
  return desired;
}

std::int32_t activator_count(std::int32_t ready, double total_value, double target_burst_capacity,
                             double activator_capacity) {
  if (target_burst_capacity == 0) return kActivatorsMin;
  const double load = ready * total_value + std::max(0.0, target_burst_capacity);
  return std::max(kActivatorsMin, whole(std::ceil(load / activator_capacity)));
}

}  // namespace sluice::autoscaler
