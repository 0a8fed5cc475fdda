#include "memory-pressure/core/forecast.h"

#include "memory-pressure/core/floors.h"
#include "memory-pressure/core/ladder.h"
#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <cmath>

namespace sluice::node_agent {
namespace {

/// Share of the limit, and bytes: less is the noise of allocators.
constexpr double kReleaseShare = 0.03;
constexpr std::int64_t kReleaseBytes = std::int64_t{1} << 20;
/// The next of its kin may go a little further than any before it.
constexpr double kBeyondPeak = 1.05;

std::int64_t release_of(const Member& member) {
  return std::max(
      kReleaseBytes,
      static_cast<std::int64_t>(kReleaseShare * static_cast<double>(member.seen.memory_limit)));
}

std::int64_t bound_of(const Member& member, std::int64_t capacity) {
  if (member.seen.memory_limit > 0) return std::min(member.seen.memory_limit, capacity);
  return member.seen.claim > 0 ? std::max(member.seen.claim, member.used()) : capacity;
}

/// Bytes that a hold lets through within the horizon.
double leak(const Member& member, std::int64_t need, const PolicySettings& settings) {
  if (freezes(member, settings)) return 0;
  const double rate =
      millicores(quota_at(kStepDeepest, Floors{settings}.floor(member.seen), settings)) *
      static_cast<double>(settings.growth_per_millicore);
  return std::min(static_cast<double>(need), rate * to_seconds(settings.horizon));
}

}  // namespace

bool freezes(const Member& member, const PolicySettings& settings) {
  return settings.hold == HoldBy::freezer && !member.seen.cgroup.empty();
}

void note_use(Member& member, TimePoint now) {
  if (!member.seen.working_set) return;
  const std::int64_t used = *member.seen.working_set;
  member.growth.sample(used, member.seen.sampled, now);
  if (used < member.high - release_of(member)) {
    member.released = true;
    member.low = member.high = used;
  }
  member.low = std::min(member.low, used);
  member.high = std::max(member.high, used);
}

bool is_mid(const Member& member) {
  return member.released && member.used() > member.low + release_of(member);
}

Outlook foresee(const Member& member, const Kin* kin, std::int64_t capacity,
                const PolicySettings& settings) {
  const auto used = static_cast<double>(member.used());
  // One that is not described yet, and one that does not run, stays as it is.
  if (!member.seen.described || member.idle) return {.expected = used, .held = used};
  const std::int64_t bound = bound_of(member, capacity);
  Outlook outlook;
  std::int64_t claim = bound;
  if (kin != nullptr) {
    const auto peak = static_cast<std::int64_t>(kBeyondPeak * kin->peak);
    claim = std::min(bound, std::max(member.used(), peak));
    // Who gives back first is seen first, and holds less than the others: until much was watched
    // the truth lies nearer to the peak.
    const double watched = to_seconds(kin->watched);
    const double trust = watched / (watched + to_seconds(settings.kin_known_after));
    outlook.expected = trust * kin->mean + (1 - trust) * static_cast<double>(std::min(bound, peak));
    // The mean of a leak is behind it.
    if (member.growth.is_leaking()) outlook.expected = std::max(outlook.expected, used);
    outlook.variance = kin->variance;
  } else if (member.seen.marks.system) {
    // Programs of the system run on every node, often without a limit: as strangers they would
    // leave no room for anything else.
    claim = std::max(member.used(), member.growth.high_water());
    outlook.expected = used;
  } else {
    outlook.stranger = true;
    // One that is tried displaces no other.
    outlook.expected =
        member.tried ? used : used + settings.stranger_growth * (static_cast<double>(bound) - used);
  }
  outlook.need = std::max<std::int64_t>(0, claim - member.used());
  outlook.held = used + leak(member, outlook.need, settings);
  return outlook;
}

void Forecast::add(const Outlook& outlook, bool held) {
  expected += held ? outlook.held : outlook.expected;
  variance += held ? 0 : outlook.variance;
  room += held ? 0 : outlook.need;
}

void Forecast::move(const Outlook& outlook, bool to_hold) {
  const int sign = to_hold ? 1 : -1;
  expected += sign * (outlook.held - outlook.expected);
  variance -= sign * outlook.variance;
  room -= sign * outlook.need;
}

double Forecast::total(double confidence) const {
  return expected + confidence * std::sqrt(std::max(0.0, variance));
}

}  // namespace sluice::node_agent
