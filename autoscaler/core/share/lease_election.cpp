#include "autoscaler/core/share/lease_election.h"

#include "common/base/check.h"
#include "common/ring/hash_ring.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

constexpr Duration kDurationMin = seconds{1};
constexpr Duration kDurationMax = std::chrono::hours{1};

// A lease that was given back is free at once; its duration only has to be a number above 0.
constexpr Duration kReleased = seconds{1};

// After a release, how often it is looked who came next, where no watch tells.
constexpr Duration kHeirPause = std::chrono::milliseconds{500};

// On a fresh cluster a replica leaves a bucket to others for a retry period per bucket it has, but
// for at most so many: one replica has to take them.
constexpr std::int64_t kCourtesyMax = 3;

// Epochs are the upper half of a version. What a person wrote beyond this is no epoch.
constexpr std::uint64_t kEpochMax = 4'200'000'000;

// Versions are opaque in name and numbers in fact, which grow with every write.
bool older(const std::string& one, const std::string& other) {
  const auto a = whole_number<std::uint64_t>(one);
  const auto b = whole_number<std::uint64_t>(other);
  return a && b && *a < *b;
}

bool same_claim(const LeaseView& one, const LeaseView& other) {
  return one.holder == other.holder && one.renewed == other.renewed &&
         one.duration == other.duration && one.transitions == other.transitions;
}

}  // namespace

LeaseElection::LeaseElection(std::vector<std::string> buckets, std::string self,
                             LeaderElection rules, TimePoint now)
    : buckets_(std::move(buckets)), self_(std::move(self)), rules_(rules) {
  CHECK(!buckets_.empty());
  CHECK(!self_.empty());
  CHECK(rules_.renew_deadline < rules_.lease_duration);
  for (const std::string& bucket : buckets_) {
    slots_.push_back({.bucket = bucket, .rank = ring::hash_of(self_ + bucket), .next = now});
  }
  std::sort(slots_.begin(), slots_.end(),
            [](const Slot& a, const Slot& b) { return a.rank < b.rank; });
}

LeaseElection::Slot* LeaseElection::find(std::string_view bucket) {
  const auto at = std::find_if(slots_.begin(), slots_.end(),
                               [&](const Slot& slot) { return slot.bucket == bucket; });
  return at == slots_.end() ? nullptr : &*at;
}

const LeaseElection::Slot* LeaseElection::find(std::string_view bucket) const {
  const auto at = std::find_if(slots_.begin(), slots_.end(),
                               [&](const Slot& slot) { return slot.bucket == bucket; });
  return at == slots_.end() ? nullptr : &*at;
}

bool LeaseElection::ours(const Slot& slot) const {
  return slot.lease && slot.lease->holder == self_;
}

bool LeaseElection::in_time(const Slot& slot, TimePoint now) const {
  return slot.held && now < slot.renewed + rules_.renew_deadline;
}

Duration LeaseElection::duration_of(const LeaseView& lease) const {
  if (lease.duration <= Duration{0}) return rules_.lease_duration;
  return std::clamp(lease.duration, kDurationMin, kDurationMax);
}

// Those that are on their way count too: the next one has to wait its time.
std::int64_t LeaseElection::held() const {
  return std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.held || (slot.sent && slot.sent->acquires);
  });
}

bool LeaseElection::taking() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.sent && slot.sent->acquires; });
}

void LeaseElection::observed(std::string_view bucket, const std::optional<LeaseView>& lease,
                             TimePoint now) {
  Slot* const slot = find(bucket);
  if (slot == nullptr) return;
  if (lease) {
    see(*slot, *lease, now);
  } else if (slot->lease || !slot->known) {
    // It may have come back since; only an answer to a question proves that it is not there.
    slot->look = true;
    slot->next = std::min(slot->next, now);
  }
}

void LeaseElection::see(Slot& slot, const LeaseView& lease, TimePoint now) {
  if (slot.lease && older(lease.version, slot.lease->version)) return;
  if (!slot.lease || !same_claim(*slot.lease, lease)) slot.changed = now;
  slot.lease = lease;
  slot.known = true;
  slot.look = false;
  slot.guard.reset();
  if (slot.held && !ours(slot)) slot.held = false;
}

// The holder still acts on it, for as long as it would have without the deletion.
void LeaseElection::see_missing(Slot& slot, TimePoint now) {
  if (slot.lease && !slot.lease->holder.empty() && !ours(slot)) {
    slot.guard = slot.changed + duration_of(*slot.lease);
  }
  if (slot.lease || !slot.known) slot.changed = now;
  slot.lease.reset();
  slot.known = true;
  slot.look = false;
}

void LeaseElection::answered(std::uint64_t step, LeaseAnswer answer,
                             const std::optional<LeaseView>& lease, TimePoint now) {
  const auto at = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.sent && slot.sent->id == step;
  });
  if (at == slots_.end()) return;
  Slot& slot = *at;
  const Sent sent = *std::exchange(slot.sent, std::nullopt);
  switch (answer) {
    case LeaseAnswer::done:
      if (lease) see(slot, *lease, now);
      slot.next = now;
      if (sent.claims) claimed(slot, sent, now);
      if (releasing_ && !ours(slot)) slot.next = std::max(now, sent.at + kHeirPause);
      return;
    case LeaseAnswer::conflict:
      slot.look = true;
      slot.next = now;
      slot.claims = sent.at + rules_.retry_period / 4;
      return;
    case LeaseAnswer::missing:
      if (sent.kind == LeaseStep::Kind::create) break;  // there is no such namespace
      // Unless a holder was seen since the request was sent.
      if (sent.kind == LeaseStep::Kind::read && !(slot.lease && slot.changed > sent.at)) {
        see_missing(slot, now);
      } else {
        slot.look = true;
      }
      slot.next = releasing_ ? std::max(now, sent.at + kHeirPause) : now;
      return;
    case LeaseAnswer::failed:
      break;
  }
  slot.next = std::max(now, sent.at + (releasing_ ? kHeirPause : rules_.retry_period));
}

// What counts is when the claim was sent: no replica can have seen it earlier.
void LeaseElection::claimed(Slot& slot, const Sent& sent, TimePoint now) {
  if (releasing_) return;
  slot.next = std::max(now, sent.at + rules_.retry_period);
  if (!ours(slot) || now >= sent.at + rules_.renew_deadline) return;
  // Our earlier hold that has ended meanwhile cannot be renewed, only acquired again.
  if (!slot.held && !sent.acquires) return;
  slot.held = true;
  slot.renewed = sent.at;
  epoch_ = std::max(epoch_, sent.epoch);
}

// When we may try to take a bucket that is not ours.
TimePoint LeaseElection::takes_at(const Slot& slot) const {
  if (ours(slot)) return slot.next;  // by an earlier run, or by a request whose response was lost
  TimePoint free = slot.changed;
  if (slot.lease && !slot.lease->holder.empty()) free += duration_of(*slot.lease);
  if (slot.guard) free = std::max(free, *slot.guard);
  const bool fresh = !slot.lease && !slot.guard;
  const auto all = static_cast<std::int64_t>(slots_.size());
  const Duration courtesy = fresh ? rules_.retry_period * std::min(held(), kCourtesyMax)
                                  : rules_.retry_period * held() / (2 * all);
  return std::max(slot.next, free + courtesy);
}

std::optional<TimePoint> LeaseElection::due_of(const Slot& slot, bool may_take) const {
  if (slot.sent) return std::nullopt;
  if (releasing_) {
    const bool heir_known = slot.lease && !slot.lease->holder.empty() && !ours(slot);
    return heir_known ? std::nullopt : std::optional{slot.next};
  }
  if (slot.look) return slot.next;
  if (slot.held) return std::max(slot.next, slot.claims);
  return may_take ? std::optional{std::max(takes_at(slot), slot.claims)} : std::nullopt;
}

std::vector<LeaseStep> LeaseElection::steps(TimePoint now) {
  std::vector<LeaseStep> steps;
  for (Slot& slot : slots_) {
    if (slot.held && !in_time(slot, now)) slot.held = false;
  }
  for (Slot& slot : slots_) {
    // One at a time is taken: the next one waits for the courtesy that is due then.
    const auto due = due_of(slot, !taking());
    if (due && *due <= now) steps.push_back(step_of(slot, now));
  }
  return steps;
}

LeaseStep LeaseElection::step_of(Slot& slot, TimePoint now) {
  const bool give_back = releasing_ && ours(slot) && !slot.look;
  if (slot.look || (releasing_ && !give_back)) {
    slot.look = true;
    slot.sent = Sent{.id = next_step_++, .kind = LeaseStep::Kind::read, .at = now};
    return {.kind = slot.sent->kind, .id = slot.sent->id, .bucket = slot.bucket, .at = now};
  }
  if (!give_back) return claim(slot, !slot.held, now);
  LeaseView lease = *slot.lease;
  lease.holder.clear();
  lease.duration = kReleased;
  slot.sent = Sent{.id = next_step_++, .kind = LeaseStep::Kind::replace, .at = now};
  return {.kind = slot.sent->kind,
          .id = slot.sent->id,
          .bucket = slot.bucket,
          .lease = std::move(lease),
          .at = now};
}

LeaseStep LeaseElection::claim(Slot& slot, bool acquires, TimePoint now) {
  LeaseView lease = slot.lease.value_or(LeaseView{});
  if (acquires) {
    lease.acquired.clear();
    lease.epoch = next_epoch(now);
    if (slot.lease && !ours(slot)) ++lease.transitions;
  } else if (!slot.lease) {
    lease.epoch = epoch_;  // ours, and another program deleted it
  }
  lease.holder = self_;
  lease.duration = rules_.lease_duration;
  slot.sent = Sent{.id = next_step_++,
                   .kind = slot.lease ? LeaseStep::Kind::replace : LeaseStep::Kind::create,
                   .at = now,
                   .epoch = lease.epoch,
                   .claims = true,
                   .acquires = acquires};
  return {.kind = slot.sent->kind,
          .id = slot.sent->id,
          .bucket = slot.bucket,
          .lease = std::move(lease),
          .at = now};
}

std::uint64_t LeaseElection::next_epoch(TimePoint now) const {
  const auto unix_seconds = std::chrono::floor<seconds>(now).time_since_epoch().count();
  std::uint64_t epoch = std::max(epoch_ + 1, static_cast<std::uint64_t>(unix_seconds));
  for (const Slot& slot : slots_) {
    if (slot.lease && slot.lease->epoch < kEpochMax) {
      epoch = std::max(epoch, slot.lease->epoch + 1);
    }
  }
  return epoch;
}

std::optional<TimePoint> LeaseElection::next_due(TimePoint now) const {
  std::optional<TimePoint> next;
  const auto consider = [&next](TimePoint at) {
    if (!next || at < *next) next = at;
  };
  for (const Slot& slot : slots_) {
    if (const auto due = due_of(slot, !taking())) consider(std::max(*due, now));
    if (slot.held) consider(std::max(slot.renewed + rules_.renew_deadline, now));
  }
  return next;
}

void LeaseElection::release() {
  releasing_ = true;
  for (Slot& slot : slots_) {
    slot.held = false;
    slot.next = TimePoint{};
  }
}

bool LeaseElection::released() const {
  return releasing_ && std::none_of(slots_.begin(), slots_.end(), [this](const Slot& slot) {
           return ours(slot) || (slot.sent && slot.sent->kind != LeaseStep::Kind::read);
         });
}

std::vector<std::string> LeaseElection::owned(TimePoint now) const {
  std::vector<std::string> names;
  for (const Slot& slot : slots_) {
    if (in_time(slot, now)) names.push_back(slot.bucket);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string LeaseElection::holder(std::string_view bucket) const {
  const Slot* const slot = find(bucket);
  return slot != nullptr && slot->lease ? slot->lease->holder : std::string{};
}

}  // namespace sluice::autoscaler
