#include "tests/simulation/node_agent_twin.h"

#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <memory>

namespace sluice::node_agent {
namespace {

constexpr double kCrashEvery = 9'000;
constexpr double kDownFrom = 12'000;
constexpr double kDownFor = 6'000;

/// A policy whose decisions come out doctored.
class DoctoredPolicy final : public Policy {
 public:
  DoctoredPolicy(std::unique_ptr<Policy> policy, const Doctoring& doctoring)
      : policy_(std::move(policy)), doctoring_(doctoring) {}

  Decision decide(const Observation& seen) override {
    Decision decision = policy_->decide(seen);
    if (doctoring_.decision) doctoring_.decision(decision, seen);
    return decision;
  }

 private:
  std::unique_ptr<Policy> policy_;
  const Doctoring& doctoring_;
};

}  // namespace

AgentTwin::AgentTwin(SimKernel& kernel, const MemoryController::Options& rules,
                     const NodeFaults& faults, const Doctoring& doctoring, std::uint64_t seed)
    : kernel_(kernel), faults_(faults), doctoring_(doctoring), options_(rules), random_(seed) {
  options_.boot_id = "boot";
  options_.strays = !doctoring.loses_journal;
  options_.make_policy = [this, make = rules.make_policy](const PolicySettings& settings) {
    return std::make_unique<DoctoredPolicy>(make(settings), doctoring_);
  };
  next_crash_ = kCrashEvery * (0.2 + dice());
}

std::vector<std::string> AgentTwin::pass(double now) {
  std::vector<std::string> stopped;
  decided_now_ = false;
  finish_calls(now, stopped);
  if (faults_.crash && now >= next_crash_) {
    controller_.reset();
    dead_until_ = now + 1000 * dice();
    next_crash_ = now + kCrashEvery * (0.5 + dice());
    // A torn last line now and then: what was not synced yet.
    if (doctoring_.loses_journal) journal_.clear();
  }
  if (now < dead_until_) return stopped;
  if (!controller_) start(now);
  if (faults_.clock_steps && dice() < 0.002) clock_offset_ += (dice() - 0.5) * 7'200'000;
  if (now >= next_sample_) decide(now);
  return stopped;
}

void AgentTwin::start(double now) {
  controller_.emplace(options_);
  (void)controller_->take_over(journal_, observe(now));
  next_sample_ = now;
}

TimePoint AgentTwin::clock(double now) {
  return TimePoint{std::chrono::hours{10'000} + std::chrono::microseconds{static_cast<std::int64_t>(
                                                    (now + clock_offset_) * 1000)}};
}

bool AgentTwin::runtime_is_down(double now) const {
  if (!faults_.runtime_down) return false;
  return (now >= kDownFrom && now < kDownFrom + kDownFor) ||
         (now >= 3 * kDownFrom && now < 3 * kDownFrom + kDownFor);
}

Observation AgentTwin::observe(double now) {
  Observation seen;
  seen.now = clock(now);
  seen.memory = NodeMemory{.capacity = kernel_.capacity(), .used = kernel_.used(), .stall = {}};
  seen.runtime_answers = !runtime_is_down(now);
  if (!seen.runtime_answers) {
    seen.containers = last_list_;
    return seen;
  }
  for (const auto& [id, group] : kernel_.groups()) {
    Container one = group.shown;
    one.memory_limit = group.load.limit;
    one.working_set = group.used;
    one.sampled = seen.now;
    one.started += std::chrono::milliseconds{static_cast<std::int64_t>(clock_offset_)};
    one.quota = group.quota;
    seen.containers.push_back(one);
  }
  last_list_ = seen.containers;
  return seen;
}

void AgentTwin::decide(double now) {
  carry_out(controller_->observe(observe(now)), now);
  decided_now_ = true;
  next_sample_ = now + to_seconds(controller_->next_sample()) * 1000;
}

void AgentTwin::carry_out(const std::vector<Action>& actions, double now) {
  for (const Action& action : actions) {
    if (const auto* write = std::get_if<WriteJournal>(&action)) {
      journal_ += encode(write->record);
    } else if (const auto* order = std::get_if<Update>(&action)) {
      update(*order, now);
    } else if (const auto* read = std::get_if<ReadBack>(&action)) {
      const auto found = kernel_.groups().find(read->id);
      std::optional<CpuQuota> quota;
      if (found != kernel_.groups().end()) quota = found->second.quota;
      carry_out(controller_->read_back(read->call, quota, clock(now)), now);
    } else if (const auto* stop = std::get_if<Stop>(&action)) {
      pending_.push_back({.takes_effect = now + 50,
                          .answers = now + 60,
                          .stop = true,
                          .call = stop->call,
                          .id = stop->id,
                          .quota = {}});
    }
  }
}

void AgentTwin::update(const Update& order, double now) {
  ++updates_;
  for (const Pending& other : pending_) {
    if (other.id == order.id && other.answers >= 0 && !other.stop) {
      breaches_.push_back("two calls in flight for " + order.id);
    }
  }
  Pending call{.call = order.call, .id = order.id, .quota = order.quota};
  if (doctoring_.update) doctoring_.update(call.quota);
  const double latency = 11 + 13 * dice() + (dice() < 0.05 ? 43 : 0);
  call.takes_effect = now + latency;
  call.answers = call.takes_effect;
  if (runtime_is_down(now)) {
    call.effective = false;
    call.answers = now + 1;
    call.outcome = Outcome::unavailable;
  } else if (dice() < faults_.lost) {
    call.effective = dice() < 0.5;
    call.answers = -1;
  } else if (dice() < faults_.late) {
    call.takes_effect = now + 4000 * dice();
    call.answers = -1;
  }
  pending_.push_back(call);
}

void AgentTwin::finish_calls(double now, std::vector<std::string>& stopped) {
  std::vector<Pending> due;
  for (auto& call : pending_) {
    if (now < call.takes_effect) continue;
    take_effect(call, stopped);
    due.push_back(call);
  }
  std::erase_if(pending_, [&](const Pending& call) { return now >= call.takes_effect; });
  for (const Pending& call : due) {
    if (call.answers < 0 || !controller_) continue;
    const bool gone = !kernel_.groups().contains(call.id) && !call.stop;
    carry_out(
        controller_->answered(call.call, gone ? Outcome::not_found : call.outcome, clock(now)),
        now);
  }
}

void AgentTwin::take_effect(Pending& call, std::vector<std::string>& stopped) {
  const auto found = kernel_.groups().find(call.id);
  if (found == kernel_.groups().end() || !call.effective) return;
  Cgroup& group = found->second;
  if (group.shown.marks.never) breaches_.push_back("exempt " + call.id + " was touched");
  if (call.stop) {
    stopped.push_back(call.id);
    return;
  }
  if (call.quota.quota_us == 0) {
    breaches_.push_back("quota 0 was sent");
    return;
  }
  if (is_stricter(group.original, call.quota)) breaches_.push_back("more than given: " + call.id);
  group.quota = call.quota;
}

}  // namespace sluice::node_agent
