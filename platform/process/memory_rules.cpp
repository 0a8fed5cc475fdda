#include "platform/process/memory_rules.h"

#include "common/messages/start_gate.h"

#include <algorithm>

namespace sluice::local {
namespace {

using node_agent::Container;
using node_agent::Decision;
using node_agent::QosClass;

/// Nothing evicts below a threshold here, as a kubelet would: on small machines a twentieth is
/// enough to react in.
constexpr std::int64_t kReserveShare = 20;

QosClass class_of(const ReplicaSeen& replica) {
  const bool both = replica.limited_cpu && replica.memory_limit > 0;
  const bool one = replica.limited_cpu || replica.memory_limit > 0;
  return both ? QosClass::guaranteed : one ? QosClass::burstable : QosClass::best_effort;
}

}  // namespace

std::vector<node_agent::Action> MemoryRules::look(
    const std::optional<node_agent::NodeMemory>& memory, const std::vector<ReplicaSeen>& replicas,
    TimePoint now) {
  looked_at_ = now;
  admitted_ = 0;
  learn(replicas);
  seen_ = {};
  seen_.now = now;
  seen_.memory = memory;
  std::size_t running = 0;
  for (const ReplicaSeen& replica : replicas) {
    seen_.containers.push_back(container_of(replica, now));
    if (!replica.leaving) ++running;
  }
  if (!policy_) {
    if (!memory) return {};
    settings_.reserve = std::min(settings_.reserve, memory->capacity / kReserveShare);
    settings_.pause = can_throttle_;
    policy_.emplace(settings_);
  }
  decision_ = policy_->decide(seen_);
  admit_ = decision_.admit_bytes;
  if (running == 0 && memory) {
    // To an empty node the policy admits anything, once; the gate knows that by itself, and bounds
    // those who come in the same turn.
    const auto left = static_cast<double>(memory->capacity - settings_.reserve - memory->used);
    admit_ = static_cast<std::int64_t>(std::max(0.0, left / settings_.overcommit_factor));
  }
  gate_.report(admit_, running);
  for (const ReplicaSeen& replica : replicas) {
    if (replica.memory) gate_.settled(replica.id);
  }
  if (decision_.retire_idle) trims_until_ = now + kCalmAfter;
  tight_ = node_agent::next_sample(settings_, seen_, decision_) < settings_.sample;
  auto actions = reconciler_.tick(decision_, seen_);
  note_throttled();
  return actions;
}

std::vector<node_agent::Action> MemoryRules::answered(std::uint64_t call,
                                                      node_agent::Outcome outcome, TimePoint now) {
  auto actions = reconciler_.answered(call, outcome, now);
  note_throttled();
  return actions;
}

std::vector<node_agent::Action> MemoryRules::read_back(
    std::uint64_t call, const std::optional<node_agent::CpuQuota>& in_kernel, TimePoint now) {
  auto actions = reconciler_.read_back(call, in_kernel, now);
  note_throttled();
  return actions;
}

// Only what is ready shows how large one becomes.
void MemoryRules::learn(const std::vector<ReplicaSeen>& replicas) {
  for (const ReplicaSeen& replica : replicas) {
    if (!replica.ready || !replica.memory) continue;
    std::int64_t& largest = largest_[replica.revision];
    largest = std::max(largest, *replica.memory);
  }
}

Container MemoryRules::container_of(const ReplicaSeen& replica, TimePoint now) const {
  Container container;
  container.id = replica.id + "/" + std::to_string(replica.pid);
  container.pod_uid = replica.id;
  container.pod_namespace = "default";
  container.pod = replica.revision;
  container.name = replica.id;
  container.started = replica.started;
  container.qos = class_of(replica);
  container.marks.serves = true;
  container.marks.never = replica.leaving;
  container.memory_limit = replica.memory_limit;
  if (replica.memory_limit == 0) container.claim = claim_of(replica.revision, 0);
  container.working_set = replica.memory;
  container.sampled = now;
  container.quota = replica.quota;
  container.ready = replica.ready;
  return container;
}

// While no replica of a revision was ready yet, none says how large one becomes (one-machine.md 6).
std::int64_t MemoryRules::claim_of(const std::string& revision, std::int64_t limit) const {
  if (limit > 0) return limit;
  const auto found = largest_.find(revision);
  return found == largest_.end() ? kDefaultClaim : std::max<std::int64_t>(1, found->second);
}

StartAnswer MemoryRules::ask(const std::string& replica, const std::string& revision,
                             std::int64_t memory_limit, TimePoint now) {
  StartAnswer answer;
  answer.claim = claim_of(revision, memory_limit);
  if (!policy_) return answer;
  answer.later = tight_ && admitted_ > 0;
  answer.granted = !answer.later && gate_.admit(replica, answer.claim, now);
  if (answer.granted) ++admitted_;
  answer.free = std::max<std::int64_t>(0, admit_ - gate_.reserved());
  return answer;
}

bool MemoryRules::is_stale(TimePoint now) const {
  return !looked_at_ || now - *looked_at_ > 2 * settings_.sample || now < *looked_at_;
}

Duration MemoryRules::pause() const {
  return tight_ ? settings_.fast_sample : settings_.sample;
}

// From the decision to the moment the kernel shows the original again.
void MemoryRules::note_throttled() {
  throttled_.clear();
  for (const node_agent::HeldThrottle& held : reconciler_.held()) {
    throttled_.insert(held.container.name);
  }
}

std::string MemoryRules::why_throttled(const std::string& replica) const {
  for (const node_agent::HeldThrottle& held : reconciler_.held()) {
    if (held.container.name == replica) return held.why;
  }
  return {};
}

std::optional<std::int64_t> MemoryRules::bytes_of(const std::string& replica) const {
  for (const Container& container : seen_.containers) {
    if (container.name == replica) return container.working_set;
  }
  return std::nullopt;
}

std::string MemoryRules::replica_of(const std::string& container) {
  return container.substr(0, container.rfind('/'));
}

}  // namespace sluice::local
