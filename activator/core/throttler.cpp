#include "activator/core/throttler.h"

#include "common/base/check.h"

#include <algorithm>
#include <limits>

namespace sluice::activator {

namespace {

// However little is granted, this many may wait: a small revision at scarcity still rides out a
// short burst (activator.md 14.3).
constexpr std::int64_t kScarceWaitingMin = 100;

// Waiters per request that the granted pods carry at once.
constexpr std::int64_t kScarceWaitingFactor = 10;

// Without a limit per pod its capacity is read as the default target of the autoscaler.
constexpr std::int64_t kUnlimitedPodCapacity = 100;

}  // namespace

std::int32_t shared_capacity(std::int32_t container_concurrency, std::int32_t backends,
                             std::int32_t activators) {
  if (container_concurrency <= 0 || backends <= 0) {
    return 0;
  }
  const std::int64_t whole = std::int64_t{container_concurrency} * backends;
  const std::int64_t share = whole / std::max(1, activators);
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(share, 1, std::numeric_limits<std::int32_t>::max()));
}

Throttler::Throttler(const ThrottlerSpec& spec)
    : pod_limit_(static_cast<std::uint32_t>(spec.container_concurrency)),
      queue_depth_(spec.queue_depth),
      queue_wait_(spec.queue_wait),
      balancer_(spec.policy.value_or(default_policy(spec.container_concurrency)), spec.seed),
      waiting_max_(spec.queue_depth) {
  CHECK(spec.container_concurrency >= 0);
  CHECK(spec.queue_depth >= 1);
  CHECK(spec.queue_wait >= Duration::zero());
}

Entered Throttler::enter(TimePoint now, std::uint64_t cookie, std::span<const PodRef> tried) {
  CHECK(tried.size() <= kTriedMax);
  if (const std::optional<PodRef> pod = take(tried)) {
    return {.entry = Entry::admitted, .pod = *pod, .ticket = {}};
  }
  if (refuses_waiting_) {
    return {.pod = {}, .ticket = {}, .error = Error::cannot_scale};
  }
  if (waiting_.size() >= waiting_max_) {
    return {.pod = {}, .ticket = {}, .error = Error::queue_full};
  }
  Waiter waiter{.cookie = cookie, .tried_count = tried.size()};
  std::copy(tried.begin(), tried.end(), waiter.tried.begin());
  const Ticket ticket =
      tried.empty() ? waiting_.push_back(now, waiter) : waiting_.push_front(now, waiter);
  return {.entry = Entry::queued, .pod = {}, .ticket = ticket};
}

void Throttler::leave(PodRef ref, std::vector<Admission>& admitted) {
  Pod& pod = checked(ref);
  CHECK(pod.in_flight > 0 && in_flight_ > 0);
  --pod.in_flight;
  --in_flight_;
  if (pod.position != kUnlisted) {
    refresh_load(pod);
    admit_waiting(admitted);
  } else if (pod.in_flight == 0) {
    release_slot(ref.slot);
  }
}

bool Throttler::cancel(Ticket ticket) {
  if (!waiting_.contains(ticket)) {
    return false;
  }
  waiting_.remove(ticket);
  return true;
}

void Throttler::set_pods(std::span<const PodState> pods, std::vector<Admission>& admitted) {
  list_pods(pods);
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const Pod& pod = slots_[slot];
    if (pod.used && pod.position == kUnlisted && pod.in_flight == 0) {
      release_slot(slot);
    }
  }
  refresh_loads();
  admit_waiting(admitted);
}

void Throttler::set_grant(const Grant& grant, std::vector<Dismissal>& dismissed) {
  waiting_max_ = queue_depth_;
  if (grant.granted < grant.desired) {
    const std::int64_t per_pod = pod_limit_ == 0 ? kUnlimitedPodCapacity : pod_limit_;
    const std::int64_t granted = std::max(0, grant.granted);
    // granted and per_pod are below 2^31: their product fits, ten times it may not.
    const std::int64_t carried =
        std::min<std::int64_t>(granted * per_pod, std::numeric_limits<std::int32_t>::max());
    const std::int64_t scarce = std::max(kScarceWaitingMin, kScarceWaitingFactor * carried);
    waiting_max_ = static_cast<std::int32_t>(std::min<std::int64_t>(queue_depth_, scarce));
  }
  refuses_waiting_ = grant.cannot_scale && grant.granted <= 0;
  if (refuses_waiting_) {
    fail_all(dismissed);
  }
}

std::optional<Dismissal> Throttler::expire(TimePoint now) {
  const std::optional<TimePoint> due = next_expiry();
  if (!due || now < *due) {
    return std::nullopt;
  }
  return dismiss(*waiting_.front());
}

void Throttler::fail_all(std::vector<Dismissal>& dismissed) {
  while (const std::optional<Ticket> oldest = waiting_.front()) {
    dismissed.push_back(dismiss(*oldest));
  }
}

const PodId& Throttler::pod_id(PodRef pod) const {
  return checked(pod).id;
}

std::uint32_t Throttler::in_flight(PodRef pod) const {
  return checked(pod).in_flight;
}

std::optional<TimePoint> Throttler::oldest_waiting() const {
  const std::optional<Ticket> oldest = waiting_.front();
  return oldest ? std::optional<TimePoint>(waiting_.since(*oldest)) : std::nullopt;
}

std::optional<TimePoint> Throttler::next_expiry() const {
  const std::optional<TimePoint> oldest = oldest_waiting();
  if (!oldest || queue_wait_ == Duration::zero()) {
    return std::nullopt;
  }
  return *oldest + queue_wait_;
}

std::optional<std::int64_t> Throttler::capacity() const {
  std::int64_t sum = 0;
  for (const std::uint32_t slot : order_) {
    if (slots_[slot].limit == 0) {
      return std::nullopt;
    }
    sum += slots_[slot].limit;
  }
  return sum;
}

Throttler::Pod& Throttler::checked(PodRef pod) {
  CHECK(pod.slot < slots_.size() && slots_[pod.slot].used);
  CHECK(slots_[pod.slot].generation == pod.generation);
  return slots_[pod.slot];
}

const Throttler::Pod& Throttler::checked(PodRef pod) const {
  CHECK(pod.slot < slots_.size() && slots_[pod.slot].used);
  CHECK(slots_[pod.slot].generation == pod.generation);
  return slots_[pod.slot];
}

// A pod with room that is not among `tried`, charged with one more request. Those in `tried` may
// have gone since, and their slots may serve another pod: they are then ignored.
std::optional<PodRef> Throttler::take(std::span<const PodRef> tried) {
  if (open_pods_ == 0) {
    return std::nullopt;
  }
  std::array<std::size_t, kTriedMax> left_out{};
  std::size_t count = 0;
  for (const PodRef ref : tried) {
    if (ref.slot < slots_.size() && slots_[ref.slot].generation == ref.generation &&
        slots_[ref.slot].position != kUnlisted) {
      left_out[count++] = slots_[ref.slot].position;
    }
  }
  const std::optional<std::size_t> position =
      balancer_.pick(loads_, std::span(left_out).first(count));
  if (!position) {
    return std::nullopt;
  }
  const std::uint32_t slot = order_[*position];
  Pod& pod = slots_[slot];
  CHECK(pod.limit == 0 || pod.in_flight < pod.limit);
  ++pod.in_flight;
  ++in_flight_;
  refresh_load(pod);
  return PodRef{.slot = slot, .generation = pod.generation};
}

// Retries wait at the front and may find that the pods with room are those they tried; whoever is
// behind them has not, so the walk goes on until no pod has room.
void Throttler::admit_waiting(std::vector<Admission>& admitted) {
  std::optional<Ticket> next = waiting_.front();
  while (next && open_pods_ > 0) {
    const Ticket ticket = *next;
    next = waiting_.after(ticket);
    const Waiter& waiter = waiting_.at(ticket);
    if (const auto pod = take(std::span(waiter.tried).first(waiter.tried_count))) {
      admitted.push_back({.ticket = ticket, .pod = *pod, .cookie = waiter.cookie});
      waiting_.remove(ticket);
    }
  }
}

std::uint32_t Throttler::obtain_slot(const PodId& id) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot].id = id;
  slots_[slot].used = true;
  slot_of_.emplace(id, slot);
  return slot;
}

void Throttler::release_slot(std::uint32_t slot) {
  Pod& pod = slots_[slot];
  CHECK(pod.used && pod.in_flight == 0 && pod.position == kUnlisted);
  slot_of_.erase(pod.id);
  pod.used = false;
  ++pod.generation;
  free_slots_.push_back(slot);
}

// A name that went away and came back is a pod started anew: having failed before says nothing.
void Throttler::forget_tried(PodRef pod) {
  for (auto ticket = waiting_.front(); ticket; ticket = waiting_.after(*ticket)) {
    Waiter& waiter = waiting_.at(*ticket);
    const auto end = waiter.tried.begin() + static_cast<std::ptrdiff_t>(waiter.tried_count);
    const auto kept = std::remove(waiter.tried.begin(), end, pod);
    waiter.tried_count = static_cast<std::size_t>(kept - waiter.tried.begin());
  }
}

void Throttler::list_pods(std::span<const PodState> pods) {
  std::vector<const PodState*> sorted;
  sorted.reserve(pods.size());
  for (const PodState& pod : pods) {
    sorted.push_back(&pod);
  }
  const auto by_name = [](const PodState* a, const PodState* b) { return a->id < b->id; };
  const auto same_name = [](const PodState* a, const PodState* b) { return a->id == b->id; };
  std::stable_sort(sorted.begin(), sorted.end(), by_name);
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same_name), sorted.end());

  std::vector<bool> was_listed(slots_.size(), false);
  for (const std::uint32_t slot : order_) {
    was_listed[slot] = true;
    slots_[slot].position = kUnlisted;
  }
  order_.clear();
  for (const PodState* state : sorted) {
    const auto known = slot_of_.find(state->id);
    const std::uint32_t slot = known == slot_of_.end() ? obtain_slot(state->id) : known->second;
    Pod& pod = slots_[slot];
    if (known != slot_of_.end() && !was_listed[slot]) {
      forget_tried({.slot = slot, .generation = pod.generation});
    }
    pod.position = order_.size();
    pod.avoid = state->avoid;
    pod.limit = state->capacity > 0 ? static_cast<std::uint32_t>(state->capacity) : pod_limit_;
    order_.push_back(slot);
  }
}

void Throttler::refresh_loads() {
  all_avoided_ = std::all_of(order_.begin(), order_.end(),
                             [this](std::uint32_t slot) { return slots_[slot].avoid; });
  loads_.assign(order_.size(), PodLoad{});
  open_pods_ = 0;
  for (const std::uint32_t slot : order_) {
    refresh_load(slots_[slot]);
  }
}

void Throttler::refresh_load(const Pod& pod) {
  PodLoad& load = loads_[pod.position];
  open_pods_ -= load.open ? 1U : 0U;
  load.in_flight = pod.in_flight;
  load.open = (!pod.avoid || all_avoided_) && (pod.limit == 0 || pod.in_flight < pod.limit);
  open_pods_ += load.open ? 1U : 0U;
}

Dismissal Throttler::dismiss(Ticket ticket) {
  const Waiter waiter = waiting_.remove(ticket);
  return {.ticket = ticket, .cookie = waiter.cookie};
}

}  // namespace sluice::activator
