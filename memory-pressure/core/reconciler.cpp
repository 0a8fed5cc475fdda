#include "memory-pressure/core/reconciler.h"

#include "common/base/check.h"

#include "memory-pressure/core/floors.h"
#include "memory-pressure/core/ladder.h"
#include <algorithm>

namespace sluice::node_agent {
namespace {

/// The most that one tick counts for: a leap of the clock must not end the wait for late effects.
constexpr Duration kTickMax = std::chrono::seconds{1};
/// Who is gone from the list for longer does not come back with what we gave it.
constexpr Duration kMayReturn = std::chrono::seconds{60};
constexpr std::size_t kGoneMax = 10'000;
/// A victim that was stopped but is still listed holds up the next this long.
constexpr Duration kGoneWithin = std::chrono::seconds{10};

/// Beside the deepest quota of one that may not be frozen, where the kernel has it: a quota lets
/// some memory through.
std::int64_t memory_high(const Hold& hold) {
  constexpr std::int64_t kSpare = std::int64_t{1} << 20;
  const bool deepest = hold.ladder_step >= kStepDeepest && !is_batch(hold.container);
  if (hold.releasing || !deepest || !hold.container.working_set) return 0;
  return *hold.container.working_set + kSpare;
}

}  // namespace

Reconciler::Reconciler(ReconcilerSettings settings)
    : settings_(std::move(settings)), time_(kTickMax), freezes_(settings_) {}

void Reconciler::adopt(const Recovery& recovery, const Observation& seen) {
  if (settings_.dry_run) return;
  own_ = time_.advance(seen.now);
  numbers_.generation = std::max(numbers_.generation, recovery.generation);
  freezes_.adopt(recovery, seen);
  const auto take = [&](const JournalRecord& record) {
    const Container* container = seen.find(record.id);
    if (!container) return;
    Hold& hold = holds_[record.id];
    hold.container = *container;
    hold.original = normalised(record.original);
    hold.releasing = true;
    hold.since = record.at;
    hold.ladder_step = record.ladder_step;
    hold.journalled = record.ours;
    hold.acknowledged = container->quota;
    hold.verified = container->quota.has_value();
    hold.needs_reading = !container->quota;
    hold.watch_until = own_ + settings_.late_for;
    hold.why = "throttled before this start";
  };
  for (const JournalRecord& record : recovery.ours) take(record);
  for (const JournalRecord& record : recovery.watched) {
    take(record);
    // Nothing of ours governs it: it counts as given back.
    if (const auto found = holds_.find(record.id); found != holds_.end()) {
      found->second.acknowledged = found->second.original;
      found->second.journalled.reset();
    }
  }
  for (const Stray& stray : recovery.strays) {
    if (!stray.cgroup.empty()) continue;
    take({.id = stray.id, .original = stray.original});
    if (const auto found = holds_.find(stray.id); found != holds_.end()) {
      found->second.since = seen.now;
      found->second.journalled.reset();
    }
  }
}

void Reconciler::forget() {
  holds_.clear();
  freezes_.forget();
  gone_.clear();
  victim_.reset();
  backoff_ = {};
  next_call_at_ = own_;
}

std::vector<Action> Reconciler::tick(const Decision& wanted, const Observation& seen) {
  own_ = time_.advance(seen.now);
  Actions actions;
  if (settings_.dry_run) {
    dry_.clear();
    for (const Throttle& throttle : wanted.throttled) {
      const Container* container = seen.find(throttle.id);
      if (!container) continue;
      dry_.push_back({.container = *container,
                      .original = normalised(container->quota.value_or(kUnlimited)),
                      .quota = throttle.quota,
                      .since = seen.now,
                      .ladder_step = throttle.ladder_step,
                      .frozen = throttle.freeze,
                      .why = throttle.why});
    }
    return actions;
  }
  if (seen.runtime_answers) drop_gone(seen, actions);
  take_returned(seen);
  pursue_victim(wanted, seen);
  want(wanted, seen);
  end_overdue_calls(actions);
  look_at_kernel(seen, actions);
  forget_given_back(seen.now, actions);
  freezes_.tick(wanted, seen, own_, restoring_, numbers_, actions);
  send_updates(seen.now, actions);
  stop_victim(seen.now, actions);
  return actions;
}

void Reconciler::drop_gone(const Observation& seen, Actions& actions) {
  for (auto it = holds_.begin(); it != holds_.end();) {
    if (seen.find(it->first)) {
      ++it;
      continue;
    }
    write(RecordKind::drop, it->second, seen.now, actions);
    if (gone_.size() < kGoneMax) gone_[it->first] = {it->second.original, own_};
    it = holds_.erase(it);
  }
  std::erase_if(gone_, [&](const auto& entry) { return own_ - entry.second.second > kMayReturn; });
  std::erase_if(left_alone_, [&](const std::string& id) { return !seen.find(id); });
  if (victim_ && !seen.find(victim_->order.id)) victim_.reset();
}

// A runtime that has just been started again may have left out of its list who runs all the same.
void Reconciler::take_returned(const Observation& seen) {
  if (gone_.empty()) return;
  for (const Container& container : seen.containers) {
    const auto found = gone_.find(container.id);
    if (found == gone_.end() || holds_.contains(container.id)) continue;
    if (container.quota && is_signature(*container.quota)) {
      Hold back;
      back.container = container;
      back.original = found->second.first;
      back.acknowledged = container.quota;
      back.verified = true;
      back.answered_at = own_;
      back.since = seen.now;
      back.why = "throttled before the runtime stopped listing it";
      holds_.emplace(container.id, std::move(back));
    }
    gone_.erase(found);
  }
}

void Reconciler::want(const Decision& wanted, const Observation& seen) {
  // A victim keeps what holds it back: with more CPU it would only take more memory.
  const auto keeps = [&](const std::string& id) {
    return !restoring_ && victim_ && victim_->order.id == id;
  };
  for (auto& [id, hold] : holds_) {
    if (keeps(id)) continue;
    hold.releasing = true;
    hold.rank = wanted.throttled.size();
  }
  if (restoring_) return;
  std::size_t rank = 0;
  for (const Throttle& throttle : wanted.throttled) {
    const Container* container = seen.find(throttle.id);
    if (!container || left_alone_.contains(throttle.id) || throttle.id.size() > kIdMax) continue;
    if (keeps(throttle.id) || throttle.freeze) continue;
    auto found = holds_.find(throttle.id);
    if (found == holds_.end()) {
      // Who cannot be put back is not touched; who has less already is not given more.
      if (!container->quota || is_signature(*container->quota)) continue;
      if (!is_stricter(throttle.quota, normalised(*container->quota))) continue;
      hold(throttle, *container, seen.now);
      found = holds_.find(throttle.id);
    }
    Hold& held = found->second;
    if (!is_stricter(throttle.quota, held.original)) continue;
    held.releasing = false;
    held.clamped.reset();
    held.wanted = throttle.quota;
    held.ladder_step = throttle.ladder_step;
    held.why = throttle.why;
    held.rank = rank++;
  }
}

void Reconciler::hold(const Throttle& throttle, const Container& container, TimePoint now) {
  Hold fresh;
  fresh.container = container;
  fresh.original = normalised(*container.quota);
  fresh.acknowledged = fresh.original;
  fresh.verified = true;
  fresh.answered_at = own_;
  fresh.since = now;
  holds_.emplace(throttle.id, std::move(fresh));
}

void Reconciler::pursue_victim(const Decision& wanted, const Observation& seen) {
  if (restoring_) {
    if (victim_ && !victim_->stopping) victim_.reset();
    return;
  }
  const Duration patience = kGoneWithin + (victim_ ? victim_->order.grace : Duration::zero());
  if (victim_ && own_ - victim_->since > patience) victim_.reset();
  if (!victim_ && wanted.sacrifice && seen.find(wanted.sacrifice->id)) {
    victim_ = Victim{.order = *wanted.sacrifice, .since = own_};
  }
}

void Reconciler::stop_victim(TimePoint now, Actions& actions) {
  if (!victim_ || victim_->stopping) return;
  const auto found = holds_.find(victim_->order.id);
  victim_->stopping = true;
  victim_->since = own_;
  victim_->call = ++numbers_.call;
  Hold named;
  named.container.id = victim_->order.id;
  write(RecordKind::sacrifice, found == holds_.end() ? named : found->second, now, actions);
  actions.push_back(Stop{.call = victim_->call,
                         .id = victim_->order.id,
                         .grace = victim_->order.grace,
                         .why = victim_->order.why});
}

void Reconciler::end_overdue_calls(Actions& actions) {
  for (auto& [id, hold] : holds_) {
    if (hold.call == 0 || own_ - hold.called_at < settings_.call_deadline) continue;
    if (hold.call_reads) {
      hold.call = 0;
      hold.needs_reading = true;
    } else {
      note_answer(hold, Outcome::timed_out, actions);
    }
  }
}

void Reconciler::look_at_kernel(const Observation& seen, Actions& actions) {
  for (const Container& container : seen.containers) {
    const auto found = holds_.find(container.id);
    if (found == holds_.end()) continue;
    Hold& hold = found->second;
    hold.container = container;
    // What was read before the last answer may show the value before it.
    if (hold.call != 0 || !container.quota || !hold.acknowledged) continue;
    if (own_ <= hold.answered_at) continue;
    if (is_as_sent(*container.quota, *hold.acknowledged)) {
      hold.verified = true;
      hold.needs_reading = false;
    } else {
      hold.verified = false;
      hold.needs_reading = true;
    }
  }
  for (auto& [id, hold] : holds_) {
    if (hold.call == 0 && hold.needs_reading) read(hold, actions);
  }
}

void Reconciler::send_updates(TimePoint now, Actions& actions) {
  if (own_ < next_call_at_) return;
  std::vector<Hold*> due;
  for (auto& [id, hold] : holds_) {
    if (hold.clamped && (is_unlimited({hold.container.pod_quota_us, kPeriodUs}) ||
                         !is_stricter({hold.container.pod_quota_us, kPeriodUs}, hold.original))) {
      hold.clamped.reset();
    }
    if (hold.call == 0 && needs_sending(hold) && own_ >= hold.next_try) due.push_back(&hold);
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const Hold* a, const Hold* b) { return a->rank < b->rank; });
  // With the runtime away one call is enough to find out that it is back.
  const std::size_t most = is_degraded() ? 1 : settings_.updates_per_tick;
  if (due.size() > most) due.resize(most);
  Actions updates;
  for (Hold* hold : due) updates.emplace_back(send(*hold, now, actions));
  actions.insert(actions.end(), updates.begin(), updates.end());
}

Update Reconciler::send(Hold& hold, TimePoint now, Actions& actions) {
  const CpuQuota quota = target(hold);
  CHECK(quota.quota_us == -1 || quota.quota_us >= kQuotaUsMin);
  CHECK(hold.call == 0);
  if (!hold.releasing && (!hold.journalled || !(*hold.journalled == quota))) {
    hold.journalled = quota;
    write(RecordKind::throttle, hold, now, actions);
  }
  hold.call = ++numbers_.call;
  hold.call_reads = false;
  hold.called_at = own_;
  hold.sent = quota;
  return {.call = hold.call,
          .id = hold.container.id,
          .quota = quota,
          .why = hold.releasing ? "released" : hold.why,
          .releases = hold.releasing,
          .memory_high = memory_high(hold)};
}

void Reconciler::read(Hold& hold, Actions& actions) {
  hold.call = ++numbers_.call;
  hold.call_reads = true;
  hold.called_at = own_;
  hold.needs_reading = false;
  actions.push_back(ReadBack{.call = hold.call, .id = hold.container.id});
}

}  // namespace sluice::node_agent
