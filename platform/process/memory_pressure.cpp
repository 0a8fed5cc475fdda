#include "platform/process/memory_pressure.h"

#include "common/base/errno_text.h"
#include "common/messages/start_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

namespace sluice::local {
namespace {

using node_agent::Action;
using node_agent::CpuQuota;
using node_agent::Outcome;
using node_agent::Pressure;

/// How long a process that was forked meanwhile may stay unseen.
constexpr Duration kFindEvery = std::chrono::seconds{2};
constexpr Duration kFindEveryTight = std::chrono::seconds{1};
/// Of answers to one decision: each is followed by a read-back at most.
constexpr std::size_t kActionsMax = 1000;

std::string shown(const CpuQuota& quota) {
  return quota.quota_us < 0 ? "none"
                            : fmt::format("{} us per {} us", quota.quota_us, quota.period_us);
}

}  // namespace

MemoryPressure::MemoryPressure(Loop& clock, const log::Logger& log, const CgroupTree& cgroups)
    : clock_{clock}, log_{log}, cgroups_{cgroups}, timer_{clock.timer()} {}

MemoryPressure::~MemoryPressure() = default;

std::optional<Problem> MemoryPressure::open(const std::string& source, Warn warn) {
  warn_ = std::move(warn);
  auto machine = MachineMemory::open(source);
  if (!machine && !source.empty()) return machine.error();
  if (!machine) {
    warn_(machine.error().what + "; replicas start whether there is room or not",
          machine.error().fix);
    return std::nullopt;
  }
  machine_.emplace(std::move(*machine));
  rules_.emplace(cgroups_.can_limit_cpu());
  return std::nullopt;
}

void MemoryPressure::leave(MemoryTenant& tenant) {
  std::erase(tenants_, &tenant);
  std::erase_if(subjects_, [&](const auto& entry) { return entry.second.tenant == &tenant; });
  if (rules_) rules_->forget(tenant.name());
}

std::int64_t MemoryPressure::claim(const MemoryTenant& tenant) const {
  const std::int64_t limit = tenant.spec().memory_limit.value_or(0);
  if (rules_) return rules_->claim_of(tenant.name(), limit);
  return limit > 0 ? limit : kDefaultClaim;
}

GateAnswer MemoryPressure::ask(const MemoryTenant& tenant, const std::string& replica) {
  if (!rules_) return {};
  const TimePoint now = clock_.now();
  sample_if_stale();
  GateAnswer answer =
      rules_->ask(replica, tenant.name(), tenant.spec().memory_limit.value_or(0), now);
  if (!answer.granted && !answer.later) ++counts_.refused_starts;
  arm();
  return answer;
}

std::int64_t MemoryPressure::capacity() const {
  return rules_ && rules_->memory() ? rules_->memory()->capacity : 0;
}

void MemoryPressure::used(const std::string& replica) {
  const auto found = subjects_.find(replica);
  if (found != subjects_.end()) found->second.busy_at = clock_.now();
}

void MemoryPressure::ended(const std::string& replica) {
  groups_.erase(replica);
  if (cpu_) cpu_->forget(replica);
  trees_.erase(replica);
  if (rules_) rules_->controller().ended(replica);
}

std::optional<std::int64_t> MemoryPressure::bytes_of(const std::string& replica) const {
  if (!rules_ || rules_->is_stale(clock_.now())) return std::nullopt;
  return rules_->bytes_of(replica);
}

const MemoryRules* MemoryPressure::rules() {
  if (!rules_) return nullptr;
  sample_if_stale();
  return &*rules_;
}

// With replicas there is a sample every quarter of a second, and its actions must not run in the
// middle of a caller's query.
void MemoryPressure::sample_if_stale() {
  if (subjects_.empty() && rules_->is_stale(clock_.now())) carry_out(observe());
}

void MemoryPressure::arm() {
  if (armed_ || !rules_) return;
  armed_ = true;
  timer_->after(rules_->controller().next_sample(), [this] {
    armed_ = false;
    look();
  });
}

void MemoryPressure::look() {
  if (!rules_) return;
  std::vector<Action> actions = observe();
  // Out of routing first, then out of breath.
  tell_throttled();
  carry_out(std::move(actions));
  tell_throttled();
  for (std::size_t i = 0; i < tenants_.size(); ++i) tenants_[i]->on_room();
  // Without replicas there is nothing to watch: a start takes its own sample.
  if (!subjects_.empty()) arm();
}

std::vector<Action> MemoryPressure::observe() {
  const TimePoint now = clock_.now();
  const Pressure before = rules_->decision().pressure;
  auto actions = rules_->look(machine_->read(), gather(now), now);
  note_pressure(before);
  return actions;
}

std::vector<ReplicaSeen> MemoryPressure::gather(TimePoint now) {
  std::vector<ReplicaSeen> seen;
  std::map<std::string, Subject> subjects;
  for (MemoryTenant* tenant : tenants_) {
    const ServiceSpec& spec = tenant->spec();
    for (TenantReplica& replica : tenant->replicas()) {
      const auto before = subjects_.find(replica.id);
      const bool rests = before != subjects_.end() && replica.ready && !replica.busy &&
                         replica.sent == before->second.sent;
      const TimePoint busy_at = rests ? before->second.busy_at : now;
      subjects[replica.id] = {tenant, replica.pid, busy_at, replica.sent,
                              replica.container_bytes.has_value()};
      seen.push_back(
          {.id = replica.id,
           .revision = tenant->name(),
           .pid = replica.pid,
           .started = replica.started,
           .ready = replica.ready,
           .leaving = replica.leaving,
           .never = spec.never_throttled,
           .holdable = replica.holdable,
           .rests = now - busy_at >= kRestsAfter,
           .held = replica.held,
           .limited_cpu = spec.cpu_limit.has_value(),
           .memory_limit = spec.memory_limit.value_or(0),
           .memory = replica.container_bytes,
           .quota = replica.container_bytes ? std::nullopt : quota_of(replica.id, spec)});
      const CgroupTree& tree = tree_of(replica.id);
      if (has_group(replica.id, spec) && !groups_.contains(replica.id) && tree.can_limit_memory()) {
        groups_.try_emplace(replica.id, tree.memory_directory(replica.id).string(),
                            tree.kind() == CgroupKind::v2);
      }
    }
  }
  subjects_ = std::move(subjects);
  find_members(now);
  for (ReplicaSeen& replica : seen) {
    const auto group = groups_.find(replica.id);
    if (group != groups_.end()) {
      replica.memory = group->second.working_set();
      if (replica.memory) *replica.memory += group->second.swap();
    }
    if (!replica.memory) replica.memory = processes_.bytes(replica.pid);
  }
  return seen;
}

void MemoryPressure::find_members(TimePoint now) {
  std::set<pid_t> leaders;
  bool strangers = false;
  for (const auto& [id, subject] : subjects_) {
    if (groups_.contains(id) && (!cpu_ || counts_cpu_by_group(id))) continue;
    leaders.insert(subject.pid);
    strangers = strangers || !processes_.knows(subject.pid);
  }
  const Duration every = rules_->controller().is_tight() ? kFindEveryTight : kFindEvery;
  if (!strangers && members_found_ && now - *members_found_ < every) return;
  members_found_ = now;
  processes_.look(leaders);
  if (cpu_) read_cpu(now);
}

// Members are looked for at each start too.
void MemoryPressure::read_cpu(TimePoint now) {
  if (cpu_read_ && now - *cpu_read_ < CpuUse::kStepLeast) return;
  cpu_read_ = now;
  for (const auto& [id, subject] : subjects_) {
    if (subject.contained) continue;
    const auto used =
        counts_cpu_by_group(id) ? tree_of(id).cpu_time(id) : processes_.cpu_time(subject.pid);
    if (used) cpu_->note(id, *used, now);
  }
}

bool MemoryPressure::counts_cpu_by_group(const std::string& replica) const {
  return groups_.contains(replica) && tree_of(replica).kind() == CgroupKind::v2;
}

const CgroupTree& MemoryPressure::tree_of(const std::string& replica) const {
  const auto found = trees_.find(replica);
  return found == trees_.end() ? cgroups_ : *found->second;
}

// From its start, before a throttle makes one.
bool MemoryPressure::has_group(const std::string& replica, const ServiceSpec& spec) const {
  return spec.is_limited() || trees_.contains(replica);
}

// What the spec gave it, until a throttle has made or changed a group.
std::optional<CpuQuota> MemoryPressure::quota_of(const std::string& replica,
                                                 const ServiceSpec& spec) const {
  if (!cgroups_.can_limit_cpu()) return std::nullopt;
  const bool grouped = has_group(replica, spec);
  if (!grouped && !told_.contains(replica)) return node_agent::kUnlimited;
  const auto read = tree_of(replica).cpu_quota(replica);
  if (!read && !grouped) return node_agent::kUnlimited;
  return read;
}

void MemoryPressure::tell_throttled() {
  const auto now = rules_->throttled();
  const auto before = std::exchange(told_, now);
  const auto tell = [this](const std::string& replica, bool throttled, const std::string& why) {
    const auto found = subjects_.find(replica);
    if (found != subjects_.end()) found->second.tenant->on_throttled(replica, throttled, why);
  };
  for (const auto& [replica, why] : now) {
    if (!before.contains(replica)) tell(replica, true, why);
  }
  for (const auto& [replica, why] : before) {
    if (!now.contains(replica)) tell(replica, false, {});
  }
}

void MemoryPressure::carry_out(std::vector<Action> actions) {
  std::deque<Action> left{actions.begin(), actions.end()};
  for (std::size_t done = 0; !left.empty() && done < kActionsMax; ++done) {
    const Action action = std::move(left.front());
    left.pop_front();
    std::vector<Action> more;
    if (const auto* update = std::get_if<node_agent::Update>(&action)) {
      more = rules_->controller().answered(update->call, write(*update), clock_.now());
    } else if (const auto* freeze = std::get_if<node_agent::Freeze>(&action)) {
      more = rules_->controller().answered(freeze->call, hold(*freeze), clock_.now());
    } else if (const auto* read = std::get_if<node_agent::ReadBack>(&action)) {
      const std::string replica = MemoryRules::replica_of(read->id);
      const auto quota = tree_of(replica).cpu_quota(replica);
      more = rules_->controller().read_back(read->call, quota, clock_.now());
    } else if (const auto* stop = std::get_if<node_agent::Stop>(&action)) {
      sacrifice(*stop);
      more = rules_->controller().answered(stop->call, Outcome::ok, clock_.now());
    } else if (const auto* alarm = std::get_if<node_agent::Alarm>(&action)) {
      log_.write(log::Severity::warning, alarm->text,
                 {{"replica", MemoryRules::replica_of(alarm->id)}});
    }
    // A journal is for what outlives its writer: these groups do not.
    left.insert(left.end(), more.begin(), more.end());
  }
}

Outcome MemoryPressure::write(const node_agent::Update& update) {
  const std::string replica = MemoryRules::replica_of(update.id);
  const auto found = subjects_.find(replica);
  if (found == subjects_.end()) return Outcome::not_found;
  const CgroupTree& tree = tree_of(replica);
  std::string error;
  if (!tree.cpu_quota(replica)) {
    // Where no group could be made there is nothing to lift.
    if (node_agent::is_unlimited(update.quota)) return Outcome::ok;
    if (const auto problem = tree.adopt(replica, found->second.pid)) error = problem->what;
  }
  if (error.empty()) {
    if (const int number = tree.set_cpu_quota(replica, update.quota)) {
      error = errno_text(number);
    }
  }
  ++(!error.empty() ? counts_.failures : update.releases ? counts_.releases : counts_.throttles);
  log_.write(error.empty() ? log::Severity::info : log::Severity::warning,
             update.releases ? "release" : "throttle",
             {{"replica", replica},
              {"quota", shown(update.quota)},
              {"why", update.why},
              {"error", error}});
  return error.empty() ? Outcome::ok : Outcome::refused;
}

Outcome MemoryPressure::hold(const node_agent::Freeze& freeze) {
  const std::string replica = MemoryRules::replica_of(freeze.id);
  const auto found = subjects_.find(replica);
  if (found == subjects_.end()) return Outcome::not_found;
  const bool done = found->second.tenant->on_held(replica, freeze.frozen);
  if (done && freeze.frozen) ++counts_.holds;
  log_.write(
      log::Severity::info, freeze.frozen ? "hold" : "let go",
      {{"replica", replica}, {"why", freeze.why}, {"error", done ? "" : "a request is in flight"}});
  return done ? Outcome::ok : Outcome::failed;
}

void MemoryPressure::sacrifice(const node_agent::Stop& stop) {
  const std::string replica = MemoryRules::replica_of(stop.id);
  const auto found = subjects_.find(replica);
  if (found == subjects_.end()) return;
  const auto& memory = rules_->memory();
  const bool emergency = memory && memory->is_above(node_agent::PolicySettings{}.critical);
  const bool stopped = found->second.tenant->on_sacrifice(replica, emergency, stop.why);
  if (stopped) ++counts_.sacrifices;
  log_.write(log::Severity::warning, stopped ? "sacrifice" : "spared: no other replica could serve",
             {{"replica", replica}, {"why", stop.why}});
}

void MemoryPressure::note_pressure(Pressure before) {
  const node_agent::Decision& decision = rules_->decision();
  const Pressure now = decision.pressure;
  if (now == before) return;
  log_.write(now == Pressure::ok ? log::Severity::info : log::Severity::warning, "memory pressure",
             {{"pressure", std::string{name_of(now)}},
              {"admit_mib", std::to_string(rules_->admit_bytes() >> 20)},
              {"throttled", std::to_string(rules_->throttled().size())},
              {"why", decision.why}});
  if (now == Pressure::ok || warned_ || cgroups_.can_limit_cpu() || subjects_.empty()) return;
  warned_ = true;
  warn_(
      "memory is short, and no replica can be slowed down: no writable cgroup was found; idle "
      "ones go, and new ones wait for room",
      "run it with `systemd-run --user --scope -p Delegate=yes sluice up …`");
}

}  // namespace sluice::local
