#include "activator/core/throttler.h"

#include "common/base/check.h"

#include <algorithm>
#include <array>
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
    : queue_depth_(spec.queue_depth),
      waiting_max_(spec.queue_depth),
      queue_wait_(spec.queue_wait),
      foresees_(spec.foresees),
      pod_limit_(static_cast<std::uint32_t>(spec.container_concurrency)),
      balancer_(spec.policy.value_or(default_policy(spec.container_concurrency)), spec.seed),
      roster_(balancer_.draws()) {
  CHECK(spec.container_concurrency >= 0);
  CHECK(spec.queue_depth >= 1);
  CHECK(spec.queue_wait >= Duration::zero());
}

Entered Throttler::enter(const Arrival& arrival, TimePoint now) {
  CHECK(arrival.tried.size() <= kTriedMax);
  if (const PodRef pod = take(arrival.tried); pod != PodRef{}) {
    return {.entry = Entry::admitted, .pod = pod, .ticket = {}};
  }
  return join(arrival, now);
}

// A request that no pod has room for.
Entered Throttler::join(const Arrival& arrival, TimePoint now) {
  const TimePoint aged = queue_wait_ == Duration::zero() ? kNever : arrival.since + queue_wait_;
  const TimePoint deadline = std::min(arrival.deadline, aged);
  if (const std::optional<Entered> refused = refusal(arrival, deadline, now)) {
    return *refused;
  }
  const Ticket ticket = waiting_.join(
      {.cookie = arrival.cookie, .since = arrival.since, .deadline = deadline}, arrival.tried);
  return {.entry = Entry::queued, .pod = {}, .ticket = ticket};
}

void Throttler::leave(PodRef pod, std::vector<Admission>& admitted) {
  if (const std::optional<std::uint32_t> slot = roster_.discharge(pod)) {
    roster_.resume(*slot);
    admit_waiting(admitted);
  }
  if (roster_.in_flight() == 0) {
    waiting_.release();
  }
}

void Throttler::leave_full(PodRef pod, TimePoint until, std::vector<Admission>& admitted) {
  if (roster_.discharge(pod)) {
    roster_.pause(pod, until);
    admit_waiting(admitted);
  }
}

void Throttler::resume(TimePoint now, std::vector<Admission>& admitted) {
  roster_.resume_due(now);
  admit_waiting(admitted);
}

bool Throttler::cancel(Ticket ticket) {
  if (!waiting_.contains(ticket)) {
    return false;
  }
  (void)dismiss(ticket);
  return true;
}

void Throttler::set_pods(std::span<const PodState> pods, std::vector<Admission>& admitted) {
  const std::optional<std::int64_t> before = roster_.capacity();
  std::vector<const PodState*> sorted;
  sorted.reserve(pods.size());
  for (const PodState& pod : pods) {
    sorted.push_back(&pod);
  }
  const auto by_name = [](const PodState* a, const PodState* b) { return a->id < b->id; };
  const auto same_name = [](const PodState* a, const PodState* b) { return a->id == b->id; };
  std::stable_sort(sorted.begin(), sorted.end(), by_name);
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same_name), sorted.end());

  std::vector<PodId> gone;
  roster_.each_listed([&](const PodId& id) {
    const auto found =
        std::lower_bound(sorted.begin(), sorted.end(), id,
                         [](const PodState* pod, const PodId& name) { return pod->id < name; });
    if (found == sorted.end() || (*found)->id != id) {
      gone.push_back(id);
    }
  });
  for (const PodState* pod : sorted) {
    roster_.list(*pod, limit_of(*pod));
  }
  for (const PodId& id : gone) {
    roster_.unlist(id);
  }
  pods_changed(before, admitted);
}

void Throttler::set_pod_limit(std::int32_t container_concurrency) {
  CHECK(container_concurrency >= 0);
  pod_limit_ = static_cast<std::uint32_t>(container_concurrency);
}

void Throttler::update_pod(const PodState& pod, std::vector<Admission>& admitted) {
  const std::optional<std::int64_t> before = roster_.capacity();
  roster_.list(pod, limit_of(pod));
  pods_changed(before, admitted);
}

bool Throttler::remove_pod(const PodId& pod, std::vector<Admission>& admitted) {
  const std::optional<std::int64_t> before = roster_.capacity();
  const bool listed = roster_.unlist(pod);
  pods_changed(before, admitted);
  return listed;
}

bool Throttler::renew_pod(const PodId& pod, std::vector<Admission>& admitted) {
  const bool listed = roster_.renew(pod);
  admit_waiting(admitted);
  return listed;
}

void Throttler::set_grant(const Grant& grant, std::vector<Dismissal>& dismissed) {
  grant_ = grant;
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
  if (cannot_grow()) {
    fail_all(dismissed);
  }
}

std::optional<Dismissal> Throttler::expire(TimePoint now) {
  const std::optional<Ticket> next = waiting_.most_urgent();
  if (!next || now < waiting_.at(*next).deadline) {
    return std::nullopt;
  }
  return dismiss(*next);
}

std::optional<TimePoint> Throttler::next_expiry() const {
  const std::optional<Ticket> next = waiting_.most_urgent();
  return next ? std::optional<TimePoint>(waiting_.at(*next).deadline) : std::nullopt;
}

void Throttler::fail_all(std::vector<Dismissal>& dismissed) {
  while (const std::optional<Ticket> oldest = waiting_.front()) {
    dismissed.push_back(dismiss(*oldest));
  }
}

// Why a request that no pod has room for may not wait either; nothing when it may.
std::optional<Entered> Throttler::refusal(const Arrival& arrival, TimePoint deadline,
                                          TimePoint now) {
  const auto refused = [](Error error, Duration retry_after) {
    return Entered{.pod = {}, .ticket = {}, .error = error, .retry_after = retry_after};
  };
  if (cannot_grow()) {
    return refused(Error::cannot_scale, grant_.retry_after);
  }
  if (deadline <= now) {
    return refused(Error::queue_wait, Duration::zero());
  }
  if (waiting_.size() >= waiting_max_) {
    return refused(Error::queue_full, Duration::zero());
  }
  const std::int32_t ahead = arrival.tried.empty() ? waiting_.size() : waiting_.returned();
  const std::optional<Duration> wait =
      waiting_.empty() || !foresees_ ? std::nullopt : pace_.least_wait(ahead, now);
  const auto here = static_cast<std::int64_t>(roster_.size());
  const bool growing = grant_.granted > here * std::max(1, grant_.activators);
  if (wait && !growing && deadline - now < *wait) {
    return refused(Error::queue_wait, *wait);
  }
  return std::nullopt;
}

// A pod with room that is not among `tried`, charged with one more request; no pod (PodRef{}) if
// there is none.
PodRef Throttler::take(std::span<const PodRef> tried) {
  const std::uint32_t slot = tried.empty() ? balancer_.pick(roster_) : pick_elsewhere(tried);
  return slot == Balancer::kNone ? PodRef{} : roster_.charge(slot);
}

// Those in `tried` may have gone since, and their slots may serve another pod: they are then
// ignored.
std::uint32_t Throttler::pick_elsewhere(std::span<const PodRef> tried) {
  std::array<PodRef, kTriedMax> hidden;
  std::size_t count = 0;
  for (const PodRef pod : tried) {
    if (roster_.offers(pod)) {
      roster_.hide(pod);
      hidden[count++] = pod;
    }
  }
  const std::uint32_t slot = balancer_.pick(roster_);
  for (const PodRef pod : std::span(hidden).first(count)) {
    roster_.show(pod);
  }
  return slot;
}

bool Throttler::usable(std::span<const PodRef> tried) const {
  std::size_t excluded = 0;
  for (auto pod = tried.begin(); pod != tried.end(); ++pod) {
    const bool again = std::find(tried.begin(), pod, *pod) != pod;
    excluded += !again && roster_.offers(*pod) ? 1U : 0U;
  }
  return roster_.open() > excluded;
}

// Retries wait ahead and may find that the pods with room are those they tried; a request behind
// them has not, so the next in line is the first that may use one, until no pod has room.
void Throttler::admit_waiting(std::vector<Admission>& admitted) {
  const auto may_run = [this](std::span<const PodRef> tried) { return usable(tried); };
  while (!waiting_.empty() && roster_.open() > 0) {
    const std::optional<Ticket> next = waiting_.first(may_run);
    if (!next) {
      return;
    }
    const PodRef pod = take(waiting_.tried(*next));
    CHECK(pod != PodRef{});
    const Dismissal called = dismiss(*next);
    admitted.push_back({.ticket = *next, .pod = pod, .cookie = called.cookie});
    pace_.admitted();
  }
}

void Throttler::pods_changed(std::optional<std::int64_t> before, std::vector<Admission>& admitted) {
  const std::optional<std::int64_t> now = roster_.capacity();
  if (before && (!now || *now > *before)) {
    pace_.forget();
  }
  admit_waiting(admitted);
}

std::uint32_t Throttler::limit_of(const PodState& pod) const {
  return pod.capacity > 0 ? static_cast<std::uint32_t>(pod.capacity) : pod_limit_;
}

Dismissal Throttler::dismiss(Ticket ticket) {
  const Waiter waiter = waiting_.remove(ticket);
  if (waiting_.empty()) {
    pace_.forget();
    if (roster_.in_flight() == 0) {
      waiting_.release();
    }
  }
  return {.ticket = ticket, .cookie = waiter.cookie};
}

}  // namespace sluice::activator
