#include "platform/process/memory_rules.h"

#include "common/messages/start_gate.h"

#include <algorithm>
#include <utility>

namespace sluice::local {
namespace {

using node_agent::Container;
using node_agent::QosClass;

/// Of the one container of each replica.
constexpr const char* kApp = "app";

/// Nothing evicts below a threshold here, as a kubelet would: on small machines a twentieth is
/// enough to react in.
constexpr std::int64_t kReserveShare = 20;

QosClass class_of(const ReplicaSeen& replica) {
  const bool both = replica.limited_cpu && replica.memory_limit > 0;
  const bool one = replica.limited_cpu || replica.memory_limit > 0;
  return both ? QosClass::guaranteed : one ? QosClass::burstable : QosClass::best_effort;
}

}  // namespace

MemoryRules::MemoryRules(bool can_throttle)
    : settings_{.pause = can_throttle}, controller_{{.policy = settings_}} {}

std::vector<node_agent::Action> MemoryRules::look(
    const std::optional<node_agent::NodeMemory>& memory, const std::vector<ReplicaSeen>& replicas,
    TimePoint now) {
  looked_at_ = now;
  learn(replicas);
  if (!measured_) {
    if (!memory) return {};
    measured_ = true;
    settings_.reserve = std::min(settings_.reserve, memory->capacity / kReserveShare);
    controller_ = node_agent::MemoryController{{.policy = settings_}};
  }
  node_agent::Observation seen{.now = now, .memory = memory, .containers = {}};
  for (const ReplicaSeen& replica : replicas) seen.containers.push_back(container_of(replica, now));
  auto actions = controller_.observe(std::move(seen));
  if (decision().retire_idle) trims_until_ = now + kCalmAfter;
  return actions;
}

std::int64_t MemoryRules::admit_bytes() const {
  const std::int64_t room = decision().room_bytes;
  return memory() ? std::min(room, memory()->capacity) : room;
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
  container.name = kApp;
  container.image = replica.revision;
  container.started = replica.started;
  container.qos = class_of(replica);
  container.marks.serves = !replica.leaving;
  container.marks.never = replica.leaving || replica.never;
  container.memory_limit = replica.memory_limit;
  if (replica.memory_limit == 0) container.claim = claim_of(replica.revision, 0);
  container.working_set = replica.memory;
  container.sampled = now;
  container.quota = replica.quota;
  container.ready = replica.ready;
  if (replica.holdable) container.cgroup = replica.id;
  container.frozen = replica.held;
  container.rests = replica.rests && replica.holdable;
  return container;
}

// While no replica of a revision was ready yet, none says how large one becomes (one-machine.md 6).
std::int64_t MemoryRules::claim_of(const std::string& revision, std::int64_t limit) const {
  if (limit > 0) return limit;
  const auto found = largest_.find(revision);
  return found == largest_.end() ? kDefaultClaim : std::max<std::int64_t>(1, found->second);
}

GateAnswer MemoryRules::ask(const std::string& replica, const std::string& revision,
                            std::int64_t memory_limit, TimePoint now) {
  return controller_.ask(replica, claim_of(revision, memory_limit), now);
}

bool MemoryRules::is_stale(TimePoint now) const {
  return !looked_at_ || now - *looked_at_ > 2 * settings_.sample || now < *looked_at_;
}

std::map<std::string, std::string> MemoryRules::throttled() const {
  std::map<std::string, std::string> why;
  for (const node_agent::HeldThrottle& held : controller_.held()) {
    if (!held.frozen) why.emplace(replica_of(held.container.id), held.why);
  }
  return why;
}

std::int64_t MemoryRules::replicas_bytes() const {
  std::int64_t sum = 0;
  for (const Container& container : controller_.seen().containers) {
    sum += container.working_set.value_or(0);
  }
  return sum;
}

std::optional<std::int64_t> MemoryRules::bytes_of(const std::string& replica) const {
  for (const Container& container : controller_.seen().containers) {
    if (replica_of(container.id) == replica) return container.working_set;
  }
  return std::nullopt;
}

std::string MemoryRules::replica_of(const std::string& container) {
  return container.substr(0, container.rfind('/'));
}

}  // namespace sluice::local
