#include "memory-pressure/core/members.h"

#include "memory-pressure/core/exemptions.h"
#include "memory-pressure/core/floors.h"
#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <set>

namespace sluice::node_agent {
namespace {

/// Who has run no longer has nothing to lose yet: its hold may last.
constexpr Duration kYoung = std::chrono::milliseconds{250};
/// What the kernel shows of a thaw may be so old.
constexpr Duration kThawShown = std::chrono::seconds{1};

/// Made by a Job: no probe and no request waits for it. One that pauses with its whole pod is left
/// to the quotas, which can do that.
bool is_batch_of_one(const Container& container, const std::vector<Container>& node) {
  if (!container.described || !container.marks.batch || !is_batch(container)) return false;
  if (exemption(container, node)) return false;
  return !container.marks.whole_pod ||
         std::none_of(node.begin(), node.end(), [&](const Container& other) {
           return other.pod_uid == container.pod_uid && other.id != container.id;
         });
}

}  // namespace

void set_held(Member& member, bool held, std::string_view why, TimePoint now) {
  member.ran = member.ran || (held && now - member.changed >= kYoung);
  member.held = held;
  member.changed = now;
  member.why = why;
}

void Members::follow(const Observation& seen, TimePoint now) {
  std::set<std::string_view> present;
  for (const Container& container : seen.containers) present.insert(container.id);
  std::erase_if(all_, [&](const auto& entry) { return !present.contains(entry.first); });
  for (const Container& container : seen.containers) {
    auto [found, fresh] = all_.try_emplace(container.id);
    Member& member = found->second;
    if (fresh) {
      member.first_seen = member.changed = now;
      member.late = member.ran = first_;
    }
    member.seen = container;
    member.kind = KinBook::kind_of(container);
    member.batch = settings_.pause && is_batch_of_one(container, seen.containers);
    member.rests =
        container.rests && freezes(member, settings_) && !exemption(container, seen.containers);
    // A process before us has held these: they stay so until the rule lets them go.
    const bool left =
        fresh && first_ && member.batch &&
        (container.frozen.value_or(false) || (container.quota && is_signature(*container.quota)));
    if (left) set_held(member, true, "held before this start", now);
    const bool may_stay = member.batch || member.rests || !container.described;
    if (member.held && !may_stay) set_held(member, false, "", now);
    member.idle = container.frozen.value_or(false) && !member.held &&
                  (fresh || now - member.changed > kThawShown);
    note_use(member, now);
  }
  if (!first_) sample_kin(now - followed_at_, now);
  first_ = false;
  followed_at_ = now;
}

void Members::sample_kin(Duration passed, TimePoint now) {
  std::vector<KinBook::Sample> samples;
  for (const auto& [id, member] : all_) {
    if (!member.seen.described || !member.seen.working_set) continue;
    // Who never gives back has shown what it is after a while.
    const bool settled = member.released || now - member.changed >= settings_.known_after;
    samples.push_back({.kind = member.kind,
                       .bytes = member.used(),
                       .typical = settled && !member.held && !member.idle});
  }
  kin_.take(samples, passed);
}

Observation Members::others_of(const Observation& seen) const {
  Observation others = seen;
  std::erase_if(others.containers, [&](const Container& one) { return all_.at(one.id).batch; });
  for (Container& one : others.containers) {
    const Member& member = all_.at(one.id);
    if (!member.held || !member.rests) continue;
    one.marks.never = true;  // it is held already, and cannot grow
    one.memory_limit = std::max<std::int64_t>(1, member.used());
  }
  return others;
}

}  // namespace sluice::node_agent
