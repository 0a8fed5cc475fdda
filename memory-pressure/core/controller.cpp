#include "memory-pressure/core/controller.h"

#include "memory-pressure/core/exemptions.h"
#include <algorithm>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr Duration kSoonest = std::chrono::milliseconds{20};
constexpr double kRoomBelow = 0.60;  // of capacity

}  // namespace

std::unique_ptr<Policy> make_rule(const PolicySettings& settings) {
  switch (settings.policy) {
    case PolicyKind::foresight:
      return make_foresight(settings);
    case PolicyKind::headroom:
      return make_headroom(settings);
    case PolicyKind::off:
      break;
  }
  return nullptr;
}

MemoryController::MemoryController(const Options& options)
    : settings_{options.policy},
      boot_id_{options.boot_id},
      strays_{options.strays},
      reconciler_{
          {.boot_id = options.boot_id, .dry_run = options.dry_run, .lower = options.policy.lower}} {
  if (settings_.policy != PolicyKind::off) policy_ = options.make_policy(settings_);
}

Recovery MemoryController::take_over(std::string_view journal, const Observation& seen) {
  Recovery found = recover(journal, boot_id_, seen);
  if (!strays_ && found.skipped_lines == 0) found.strays.clear();
  reconciler_.adopt(found, seen);
  return found;
}

std::vector<Action> MemoryController::observe(Observation seen) {
  seen_ = std::move(seen);
  // The group of an ended container lives on until it is removed, with next to nothing in use.
  std::erase_if(seen_.containers, [](const Container& one) { return one.processes == 0U; });
  seen_.update_latency = reconciler_.update_latency();
  for (Container& one : seen_.containers) {
    if (reconciler_.is_freezer_refused(one.id)) one.cgroup.clear();
  }
  if (is_over()) evictions_.short_of_memory(seen_.now);
  seen_.evicted = std::exchange(evicted_, false);
  decision_ = on_ && policy_ ? policy_->decide(seen_) : look_on();
  gate_.report(decision_, is_tight());
  for (const Container& container : seen_.containers) {
    if (container.working_set) gate_.settled(container.pod_uid);
  }
  return reconciler_.tick(decision_, seen_);
}

// Touches nothing and refuses nothing; says how full the node is.
Decision MemoryController::look_on() const {
  Decision decision;
  decision.admit_bytes = decision.room_bytes = kAdmitAnything;
  decision.upper = settings_.upper;
  decision.why = "off";
  if (is_used_beyond(settings_.upper)) decision.pressure = Pressure::high;
  if (is_used_beyond(settings_.critical)) decision.pressure = Pressure::critical;
  return decision;
}

bool MemoryController::container_ended(const std::string& pod_uid, const Ending& ending,
                                       TimePoint now) {
  const bool evicted = evictions_.container_ended(pod_uid, ending, now);
  evicted_ = evicted_ || evicted;
  return evicted;
}

bool MemoryController::pod_ended(const std::string& pod_uid, TimePoint now) {
  const bool evicted = evictions_.pod_ended(pod_uid, now);
  evicted_ = evicted_ || evicted;
  return evicted;
}

void MemoryController::switch_on(bool on) {
  on_ = on;
  if (on) {
    reconciler_.resume();
  } else {
    reconciler_.restore_all();
  }
}

Duration MemoryController::next_sample() const {
  if (!on_ && !is_restored()) return soonest_sample();
  return is_tight() ? std::min(settings_.sample, settings_.fast_sample) : settings_.sample;
}

Duration MemoryController::soonest_sample() const {
  return std::min({settings_.sample, settings_.fast_sample, kSoonest});
}

bool MemoryController::is_tight() const {
  return !seen_.memory || decision_.dense || !decision_.throttled.empty() ||
         is_used_beyond(settings_.lower);
}

bool MemoryController::is_hurried() const {
  if (decision_.dense || !decision_.throttled.empty() || decision_.pressure == Pressure::critical)
    return true;
  // A gate that is shut on a node that is half empty can wait a second for the next list.
  return is_used_beyond(decision_.pressure == Pressure::ok ? settings_.lower : kRoomBelow);
}

bool MemoryController::is_over() const {
  return decision_.upper > 0 && is_used_beyond(decision_.upper);
}

bool MemoryController::is_blocked() const {
  if (!on_ || !is_over()) return false;
  return std::all_of(seen_.containers.begin(), seen_.containers.end(), [this](const auto& each) {
    return exemption(each, seen_.containers).has_value();
  });
}

bool MemoryController::is_used_beyond(double share) const {
  return seen_.memory && seen_.memory->is_above(share);
}

}  // namespace sluice::node_agent
