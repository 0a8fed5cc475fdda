// The half of the reconciler that evaluates answers and read-backs: what they say about the kernel.

#include "memory-pressure/core/ladder.h"
#include "memory-pressure/core/reconciler.h"
#include <algorithm>
#include <utility>

namespace sluice::node_agent {

std::vector<Action> Reconciler::answered(std::uint64_t call, Outcome outcome, TimePoint now) {
  own_ = time_.advance(now);
  Actions actions;
  if (victim_ && victim_->call == call && victim_->stopping) {
    // Not stopped: the rule may choose again, from what it then sees.
    const bool done = outcome == Outcome::ok || outcome == Outcome::not_found;
    if (!done) victim_.reset();
    actions.push_back(LookAgain{});
    return actions;
  }
  if (const auto took = freezes_.answered(call, outcome, own_, now, numbers_, actions)) {
    latency_.note(*took);
    return actions;
  }
  Hold* hold = by_call(call);
  if (!hold || hold->call_reads) return actions;
  hold->answered_at = own_;
  latency_.note(own_ - hold->called_at);
  if (outcome == Outcome::not_found) {
    write(RecordKind::drop, *hold, now, actions);
    const std::string id = hold->container.id;
    holds_.erase(id);
    if (victim_ && victim_->order.id == id) victim_.reset();
    actions.push_back(LookAgain{});
    return actions;
  }
  note_answer(*hold, outcome, actions);
  if (hold->needs_reading) read(*hold, actions);
  return actions;
}

void Reconciler::note_answer(Hold& hold, Outcome outcome, Actions& actions) {
  hold.call = 0;
  hold.verified = false;
  hold.needs_reading = true;
  if (outcome == Outcome::ok) {
    hold.acknowledged = hold.sent;
    hold.failures = 0;
    hold.refusals = 0;
    backoff_ = {};
    return;
  }
  // Whatever the error says, the kernel may have taken all, half or nothing of it.
  hold.acknowledged.reset();
  switch (outcome) {
    case Outcome::unavailable:
      backoff_ = std::clamp(backoff_ * 2, settings_.backoff_min, settings_.backoff_max);
      next_call_at_ = own_ + backoff_;
      return;
    case Outcome::timed_out:
      hold.suspect_until = own_ + settings_.late_for;
      return;
    case Outcome::refused:
      ++hold.refusals;
      back_off(hold);
      if (hold.releasing) {
        clamp_to_pod(hold, actions);
      } else if (hold.refusals >= settings_.refusals_max) {
        left_alone_.insert(hold.container.id);
        hold.releasing = true;
        actions.push_back(Alarm{hold.container.id,
                                "the runtime refuses to throttle it: its CPU quota is restored "
                                "and it is left alone"});
      }
      return;
    case Outcome::ok:
    case Outcome::not_found:
    case Outcome::failed:
      back_off(hold);
      return;
  }
}

void Reconciler::back_off(Hold& hold) {
  hold.next_try = own_ + settings_.pause_after(hold.failures++);
}

void Reconciler::clamp_to_pod(Hold& hold, Actions& actions) {
  const CpuQuota pod = normalised({hold.container.pod_quota_us, kPeriodUs});
  if (!is_stricter(pod, target(hold))) return;
  hold.clamped = pod;
  hold.next_try = own_;
  actions.push_back(
      Alarm{hold.container.id, "its pod has less CPU than before: its quota is set to the pod's, " +
                                   std::to_string(pod.quota_us) +
                                   " us, and restored in full when the pod has it "
                                   "again"});
}

std::vector<Action> Reconciler::read_back(std::uint64_t call,
                                          const std::optional<CpuQuota>& in_kernel, TimePoint now) {
  own_ = time_.advance(now);
  Actions actions;
  Hold* hold = by_call(call);
  if (!hold || !hold->call_reads) return actions;
  hold->call = 0;
  hold->answered_at = own_;
  if (!hold->acknowledged) return actions;
  if (!in_kernel || is_as_sent(*in_kernel, *hold->acknowledged)) {
    hold->verified = true;
  } else if (is_signature(*in_kernel) || own_ < hold->suspect_until) {
    // Ours, but not the last: a call that was given up has taken effect after all.
    hold->acknowledged.reset();
  } else if (note_foreign_change(*hold, *in_kernel, own_) && !hold->releasing) {
    const std::string id = hold->container.id;
    left_alone_.insert(id);
    write(RecordKind::drop, *hold, now, actions);
    holds_.erase(id);
    actions.push_back(Alarm{id, "another program keeps changing its CPU quota: left alone"});
    return actions;
  }
  forget_given_back(now, actions);
  return actions;
}

void Reconciler::journal_failed(const std::string& id) {
  if (victim_ && victim_->order.id == id && victim_->stopping) victim_.reset();
  freezes_.journal_failed(id, own_);
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second.call == 0 || found->second.call_reads) return;
  Hold& hold = found->second;
  hold.call = 0;
  hold.journalled.reset();
  back_off(hold);
}

void Reconciler::forget_given_back(TimePoint now, Actions& actions) {
  for (auto it = holds_.begin(); it != holds_.end();) {
    if (!is_over(it->second, own_)) {
      ++it;
      continue;
    }
    write(RecordKind::drop, it->second, now, actions);
    it = holds_.erase(it);
  }
}

JournalRecord Reconciler::record(RecordKind kind, const Hold& hold, TimePoint now) const {
  return {.kind = kind,
          .boot_id = settings_.boot_id,
          .generation = numbers_.generation,
          .at = now,
          .id = hold.container.id,
          .pod_uid = hold.container.pod_uid,
          .attempt = hold.container.attempt,
          .original = hold.original,
          .ours = hold.journalled.value_or(target(hold)),
          .ladder_step = hold.ladder_step,
          .why = hold.why};
}

void Reconciler::write(RecordKind kind, const Hold& hold, TimePoint now, Actions& actions) {
  ++numbers_.generation;
  actions.push_back(WriteJournal{record(kind, hold, now)});
}

Hold* Reconciler::by_call(std::uint64_t call) {
  for (auto& [id, hold] : holds_) {
    if (call != 0 && hold.call == call) return &hold;
  }
  return nullptr;
}

bool Reconciler::is_restored() const {
  if ((victim_ && victim_->stopping) || !freezes_.all().empty()) return false;
  return std::all_of(holds_.begin(), holds_.end(), [&](const auto& entry) {
    const Hold& hold = entry.second;
    if (is_given_back(hold)) return own_ >= hold.suspect_until;
    return hold.clamped && hold.verified && hold.call == 0 && !needs_sending(hold);
  });
}

std::vector<HeldThrottle> Reconciler::held() const {
  if (settings_.dry_run) return dry_;
  std::vector<HeldThrottle> list;
  for (const auto& [id, hold] : holds_) {
    if (is_given_back(hold)) continue;
    list.push_back({.container = hold.container,
                    .original = hold.original,
                    .quota = target(hold),
                    .since = hold.since,
                    .ladder_step = hold.ladder_step,
                    .releasing = hold.releasing,
                    .in_force = hold.verified && !needs_sending(hold),
                    .why = hold.why});
  }
  for (const auto& [id, frost] : freezes_.all()) {
    const CpuQuota has = normalised(frost.container.quota.value_or(kUnlimited));
    list.push_back({.container = frost.container,
                    .original = has,
                    .quota = has,
                    .since = frost.since,
                    .ladder_step = kStepDeepest,
                    .frozen = true,
                    .releasing = !frost.wanted,
                    .in_force = frost.frozen == true,
                    .why = frost.why});
  }
  return list;
}

std::vector<JournalRecord> Reconciler::live_records(TimePoint now) const {
  std::vector<JournalRecord> records;
  for (const auto& [id, hold] : holds_) {
    records.push_back(record(RecordKind::throttle, hold, now));
  }
  for (JournalRecord& each : freezes_.live_records(numbers_)) records.push_back(std::move(each));
  return records;
}

}  // namespace sluice::node_agent
