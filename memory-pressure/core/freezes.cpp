#include "memory-pressure/core/freezes.h"

#include <algorithm>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr Duration kBetweenThaws = std::chrono::seconds{1};
/// Thawed by another program so often, it is left alone.
constexpr std::uint32_t kForeignThawsMax = 3;

}  // namespace

void Freezes::adopt(const Recovery& recovery, const Observation& seen) {
  const auto take = [&](const std::string& id, const std::string& cgroup, TimePoint since) {
    Frost& frost = frosts_[id];
    frost.container.id = id;
    frost.container.started = since;
    if (const Container* container = seen.find(id)) frost.container = *container;
    frost.cgroup = cgroup;
    // A reading says what a write of the dead process came to; without one it may be either.
    frost.frozen = frost.container.frozen;
    frost.since = since;
    frost.why = "frozen before this start";
  };
  for (const JournalRecord& each : recovery.frozen) take(each.id, each.cgroup, each.at);
  for (const Stray& stray : recovery.strays) {
    if (!stray.cgroup.empty()) take(stray.id, stray.cgroup, seen.now);
  }
}

void Freezes::tick(const Decision& wanted, const Observation& seen, TimePoint own, bool restoring,
                   Numbers& numbers, Actions& actions) {
  want(wanted, seen, restoring);
  for (auto& [id, frost] : frosts_) {
    const bool overdue = frost.call != 0 && own - frost.called_at >= settings_.call_deadline;
    if (!overdue) continue;
    frost.call = 0;
    frost.frozen.reset();
  }
  look_at_kernel(seen, own, actions);
  send(own, restoring && seen.memory && seen.memory->is_above(settings_.lower), numbers, actions);
  for (auto it = frosts_.begin(); it != frosts_.end();) {
    const Frost& frost = it->second;
    const bool over = !frost.wanted && frost.call == 0 && frost.frozen == false;
    if (over) write(RecordKind::thawed, it->first, frost, seen.now, numbers, actions);
    it = over ? frosts_.erase(it) : std::next(it);
  }
  if (!seen.runtime_answers) return;
  std::erase_if(refused_, [&](const std::string& id) { return seen.find(id) == nullptr; });
}

// Who is gone from the list is thawed as well: it may only be missing there.
void Freezes::want(const Decision& wanted, const Observation& seen, bool restoring) {
  for (auto& [id, frost] : frosts_) frost.wanted = false;
  if (restoring) return;
  for (const Throttle& throttle : wanted.throttled) {
    const Container* container = seen.find(throttle.id);
    if (!throttle.freeze || container == nullptr || refused_.contains(throttle.id)) continue;
    const bool fits_its_record = throttle.id.size() <= kIdMax && !container->cgroup.empty() &&
                                 container->cgroup.size() <= kCgroupMax;
    if (!fits_its_record) continue;
    auto found = frosts_.find(throttle.id);
    if (found == frosts_.end()) {
      // Another program has frozen it: that is not ours to undo.
      if (container->frozen.value_or(false)) continue;
      found = frosts_.emplace(throttle.id, Frost{}).first;
      found->second.frozen = false;
      found->second.since = seen.now;
      found->second.cgroup = container->cgroup;
    }
    found->second.wanted = true;
    found->second.why = throttle.why;
  }
}

void Freezes::look_at_kernel(const Observation& seen, TimePoint own, Actions& actions) {
  for (const Container& container : seen.containers) {
    const auto found = frosts_.find(container.id);
    if (found == frosts_.end()) continue;
    Frost& frost = found->second;
    // What was read before the last answer may show the state before it.
    const bool fresh = container.sampled != frost.container.sampled && own > frost.answered_at;
    frost.container = container;
    if (frost.call != 0 || !container.frozen || !fresh) continue;
    const bool undone = frost.wanted && frost.frozen == true && !*container.frozen;
    frost.frozen = container.frozen;
    if (undone && ++frost.thaws >= kForeignThawsMax) {
      leave_alone(frost, "another program keeps thawing it: it is held by its quota", actions);
    }
  }
}

void Freezes::send(TimePoint own, bool one_a_second, Numbers& numbers, Actions& actions) {
  std::vector<std::pair<const std::string, Frost>*> due;
  for (auto& each : frosts_) {
    const Frost& frost = each.second;
    if (frost.call == 0 && frost.frozen != frost.wanted && own >= frost.next_try) {
      due.push_back(&each);
    }
  }
  std::stable_sort(due.begin(), due.end(), [](const auto* a, const auto* b) {
    return a->second.container.started < b->second.container.started;
  });
  Actions writes;
  for (auto* each : due) {
    auto& [id, frost] = *each;
    if (!frost.wanted && one_a_second) {
      if (thawed_at_ && own - *thawed_at_ < kBetweenThaws) continue;
      thawed_at_ = own;
    }
    if (frost.wanted) write(RecordKind::frozen, id, frost, frost.since, numbers, actions);
    frost.call = ++numbers.call;
    frost.sent = frost.wanted;
    frost.called_at = own;
    writes.emplace_back(Freeze{.call = frost.call,
                               .id = id,
                               .cgroup = frost.cgroup,
                               .frozen = frost.wanted,
                               .why = frost.wanted ? frost.why : "let go"});
  }
  actions.insert(actions.end(), writes.begin(), writes.end());
}

std::optional<Duration> Freezes::answered(std::uint64_t call, Outcome outcome, TimePoint own,
                                          TimePoint now, Numbers& numbers, Actions& actions) {
  const auto found = std::find_if(frosts_.begin(), frosts_.end(), [&](const auto& each) {
    return call != 0 && each.second.call == call;
  });
  if (found == frosts_.end()) return std::nullopt;
  auto& [id, frost] = *found;
  const Duration took = own - frost.called_at;
  frost.call = 0;
  frost.answered_at = own;
  const bool gone = outcome == Outcome::not_found;
  if (outcome == Outcome::ok) {
    frost.frozen = frost.sent;
    frost.failures = 0;
  } else if (!gone) {
    frost.frozen.reset();
    frost.next_try = own + settings_.pause_after(frost.failures++);
    if (frost.wanted && frost.failures >= settings_.refusals_max) {
      leave_alone(frost, "it cannot be frozen: it is held by its quota", actions);
    }
  }
  if (gone || (!frost.wanted && frost.frozen == false)) {
    write(RecordKind::thawed, id, frost, now, numbers, actions);
    frosts_.erase(found);
  }
  if (gone) actions.push_back(LookAgain{});
  return took;
}

void Freezes::leave_alone(Frost& frost, const std::string& why, Actions& actions) {
  refused_.insert(frost.container.id);
  frost.wanted = false;
  frost.next_try = {};
  actions.push_back(Alarm{frost.container.id, why});
  actions.push_back(LookAgain{});
}

void Freezes::journal_failed(const std::string& id, TimePoint own) {
  const auto found = frosts_.find(id);
  if (found == frosts_.end() || found->second.call == 0) return;
  found->second.call = 0;
  found->second.next_try = own + settings_.backoff_min;
}

std::vector<JournalRecord> Freezes::live_records(const Numbers& numbers) const {
  std::vector<JournalRecord> records;
  for (const auto& [id, frost] : frosts_) {
    records.push_back(record(RecordKind::frozen, id, frost, frost.since, numbers));
  }
  return records;
}

JournalRecord Freezes::record(RecordKind kind, const std::string& id, const Frost& frost,
                              TimePoint at, const Numbers& numbers) const {
  return {.kind = kind,
          .boot_id = settings_.boot_id,
          .generation = numbers.generation,
          .at = at,
          .id = id,
          .pod_uid = frost.container.pod_uid,
          .attempt = frost.container.attempt,
          .cgroup = frost.cgroup,
          .why = frost.why};
}

void Freezes::write(RecordKind kind, const std::string& id, const Frost& frost, TimePoint at,
                    Numbers& numbers, Actions& actions) const {
  ++numbers.generation;
  actions.push_back(WriteJournal{record(kind, id, frost, at, numbers)});
}

}  // namespace sluice::node_agent
