#include "tests/simulation/node_kernel.h"

#include <algorithm>

namespace sluice::node_agent {
namespace {

constexpr double kBytesPerCpuMs = 2.0 * (1 << 20);
constexpr double kBytesPerMs = 0.227 * (1 << 20);

}  // namespace

Cgroup& SimKernel::create(const Container& shown, const Workload& load, const CpuQuota& original,
                          double now) {
  Cgroup group;
  group.shown = shown;
  group.load = load;
  group.original = group.quota = original;
  group.to_fault = load.limit / 2;
  group.to_work = load.work_ms;
  group.nap_until = now;
  Cgroup& stored = groups_[shown.id] = group;
  begin_cycle(stored);
  return stored;
}

void SimKernel::begin_cycle(Cgroup& group) {
  std::uniform_int_distribution<std::int64_t> level{group.load.limit / 2, group.load.limit};
  group.level = level(random_);
}

void SimKernel::plan_step(Cgroup& group, double now) {
  if (group.to_fault > 0 || group.to_work > 0 || group.load.cycles == 0) return;
  double nap = group.load.nap_ms;
  if (group.used + group.load.step > group.level) {
    group.used = group.load.limit / 2;
    ++group.cycle;
    begin_cycle(group);
    nap += group.load.rest_ms;
  }
  group.to_fault = group.load.step;
  group.to_work = group.load.work_ms;
  group.nap_until = now + nap;
}

bool SimKernel::wants_cpu(const Cgroup& group, double now) const {
  return !group.frozen && now >= group.nap_until && (group.to_fault > 0 || group.to_work > 0) &&
         group.tokens > 0;
}

void SimKernel::pass(double now, double milliseconds, std::vector<std::string>& killed,
                     std::vector<std::string>& completed) {
  std::vector<Cgroup*> running;
  for (auto& [id, group] : groups_) {
    if (now >= group.period_ends || group.quota.quota_us <= 0) {
      const bool free = group.quota.quota_us <= 0;
      group.tokens = free ? 1e9 : static_cast<double>(group.quota.quota_us) / 1000.0;
      group.period_ends = now + static_cast<double>(group.quota.period_us) / 1000.0;
    }
    if (wants_cpu(group, now)) running.push_back(&group);
  }
  double pool = cores_ * milliseconds;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const double share = pool / static_cast<double>(running.size() - i);
    const double before = running[i]->cpu_ms;
    spend(*running[i], std::min({share, milliseconds, running[i]->tokens}), milliseconds);
    pool -= running[i]->cpu_ms - before;
  }
  for (Cgroup* group : running) {
    plan_step(*group, now + milliseconds);
    if (group->load.cycles > 0 && group->cycle >= group->load.cycles) {
      completed.push_back(group->shown.id);
    }
  }
  while (used() > capacity_) kill_largest(killed);
  for (const std::string& id : completed) groups_.erase(id);
}

void SimKernel::spend(Cgroup& group, double cpu_ms, double milliseconds) {
  double left = cpu_ms;
  if (group.to_fault > 0) {
    const double bytes = std::min(
        {left * kBytesPerCpuMs, kBytesPerMs * milliseconds, static_cast<double>(group.to_fault)});
    group.to_fault -= static_cast<std::int64_t>(bytes);
    group.used += static_cast<std::int64_t>(bytes);
    left -= bytes / kBytesPerCpuMs;
    if (group.to_fault > 1) {
      group.cpu_ms += cpu_ms - left;
      group.tokens -= cpu_ms - left;
      return;
    }
    group.used += group.to_fault;
    group.to_fault = 0;
  }
  const double work = std::min(left, group.to_work);
  group.to_work -= work;
  if (group.to_work < 1e-9) group.to_work = 0;
  left -= work;
  group.cpu_ms += cpu_ms - left;
  group.tokens -= cpu_ms - left;
}

void SimKernel::kill_largest(std::vector<std::string>& killed) {
  const auto victim =
      std::max_element(groups_.begin(), groups_.end(),
                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  killed.push_back(victim->first);
  groups_.erase(victim);
}

std::int64_t SimKernel::used() const {
  std::int64_t sum = 0;
  for (const auto& [id, group] : groups_) sum += group.used;
  return sum;
}

}  // namespace sluice::node_agent
