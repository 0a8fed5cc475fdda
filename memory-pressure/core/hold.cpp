#include "memory-pressure/core/hold.h"

namespace sluice::node_agent {
namespace {

/// memory-pressure.md 9, row 32.
constexpr std::size_t kForeignChangesMax = 3;
constexpr Duration kForeignWithin = std::chrono::seconds{60};

}  // namespace

CpuQuota target(const Hold& hold) {
  if (!hold.releasing) return hold.wanted;
  return hold.clamped.value_or(hold.original);
}

bool needs_sending(const Hold& hold) {
  return !hold.acknowledged || !(*hold.acknowledged == target(hold));
}

bool is_given_back(const Hold& hold) {
  return hold.releasing && !hold.clamped && hold.verified && hold.call == 0 && !needs_sending(hold);
}

bool is_over(const Hold& hold, TimePoint now) {
  return is_given_back(hold) && now >= hold.suspect_until && now >= hold.watch_until;
}

bool note_foreign_change(Hold& hold, const CpuQuota& in_kernel, TimePoint now) {
  while (!hold.foreign_changes.empty() && now - hold.foreign_changes.front() > kForeignWithin) {
    hold.foreign_changes.pop_front();
  }
  hold.foreign_changes.push_back(now);
  hold.original = normalised(in_kernel);
  hold.clamped.reset();
  hold.journalled.reset();
  if (hold.releasing) {
    hold.acknowledged = hold.original;
    hold.verified = true;
  } else {
    hold.acknowledged.reset();
    hold.verified = false;
  }
  return hold.foreign_changes.size() >= kForeignChangesMax;
}

}  // namespace sluice::node_agent
