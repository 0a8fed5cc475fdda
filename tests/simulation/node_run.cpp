#include "tests/simulation/node_run.h"

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/placement/core/placement.h"
#include "common/messages/start_gate.h"
#include "tests/simulation/node_agent.h"

#include "memory-pressure/core/quota.h"
#include <algorithm>
#include <cmath>
#include <deque>

namespace sluice::node_agent {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
/// Quotas must be what they were this long after the last job: the reconciler's wait for late
/// effects, and a little.
constexpr double kSettleMs = 20'000;
/// The agent is on the node this long before the first job.
constexpr double kLeadMs = 1'000;
/// Without a reason to hold a container this long: it must have been let go.
constexpr double kCalmMs = 5'000;
/// All could reach their limits, and this share of the node would be left.
constexpr std::int64_t kCalmShare = 8;
/// From one decision to the next: two samples; with faults a dead agent, a runtime that is down,
/// and the pause until it is asked again.
constexpr double kDecidesMs = 500;
constexpr double kDecidesAgainMs = 12'000;

/// Who ran for longer had taken memory when it was paused.
constexpr double kRanMs = 300;

struct Job {
  int number = 0;
  std::uint32_t attempt = 0;
  double may_start = 0;
};

struct Running {
  Job job;
  double started = 0;
  bool reported = false;
};

TimePoint at(double now) {
  return TimePoint{std::chrono::hours{10'000} +
                   std::chrono::microseconds{static_cast<std::int64_t>(now * 1000)}};
}

class Replay {
 public:
  Replay(const NodeScene& scene, const MemoryController::Options& rules, std::uint64_t seed,
         const NodeFaults& faults, const Doctoring& doctoring)
      : scene_(scene),
        settings_(rules.policy),
        faulty_(faults.lost + faults.late > 0 || faults.runtime_down || faults.crash),
        kernel_(scene.capacity, scene.cores, seed),
        agent_(kernel_, time_, rules, faults, doctoring, scene.sight_ms,
               seed ^ 0x9E3779B97F4A7C15ULL,
               {.decided = [this] { report(); },
                .stopped = [this](const std::string& id) { stop(id); }}) {
    for (int i = 0; i < scene.jobs; ++i) waiting_.push_back({.number = i});
    if (scene.bystanders) {
      const Workload still{.limit = 8 * kMiB, .step = kMiB};
      add_still("service", still, CpuQuota{30'000, 100'000});
      add_still("exempt", still, kUnlimited).shown.marks.never = true;
    }
  }

  NodeRun play() {
    agent_.pass();
    time_.run_for(at(0) - time_.now());
    double now = 0;
    for (; run_.done < scene_.jobs && now < scene_.give_up_ms; now += scene_.step_ms) step(now);
    run_.makespan_ms = now;
    if (run_.done < scene_.jobs) breach("only " + std::to_string(run_.done) + " jobs were done");
    agent_.end_faults();
    for (const double end = now + kSettleMs; now < end; now += scene_.step_ms) step(now);
    for (const auto& [id, group] : kernel_.groups()) {
      if (is_paused(group)) breach("not restored: " + id);
    }
    run_.updates = agent_.runtime().updates();
    run_.freezes = agent_.runtime().freezes();
    const auto& others = agent_.runtime().breaches();
    run_.breaches.insert(run_.breaches.end(), others.begin(), others.end());
    return run_;
  }

 private:
  Cgroup& add_still(const std::string& id, const Workload& load, const CpuQuota& original) {
    return kernel_.create(shown(id, 0), load, original, 0);
  }

  static bool is_paused(const Cgroup& group) {
    return group.frozen || !(group.quota == group.original);
  }

  static Container shown(const std::string& name, double now) {
    Container one;
    one.id = one.name = one.pod = one.pod_uid = name;
    one.started = at(now);
    one.cgroup = "/" + name;
    return one;
  }

  void step(double now) {
    std::vector<std::string> killed;
    std::vector<std::string> completed;
    kernel_.pass(now, scene_.step_ms, killed, completed);
    for (const std::string& id : killed) end(id, now, run_.restarts_kernel);
    for (const std::string& id : completed) {
      running_.erase(id);
      paused_since_.erase(id);
      ++run_.done;
    }
    if (!killed.empty() || !completed.empty()) agent_.news(!scene_.own_gate);
    agent_.pass();
    time_.run_for(at(now) - time_.now());
    if (!scene_.own_gate && std::fmod(now, 50) < scene_.step_ms) start_jobs(now);
    account(now);
  }

  void stop(const std::string& id) {
    kernel_.remove(id);
    end(id, elapsed(), run_.restarts_own);
    agent_.news(!scene_.own_gate);
  }

  void report() {
    proto::NodeReport report;
    report.node = "node";
    decided_ = elapsed();
    report.admit_bytes = agent_.controller()->decision().admit_bytes;
    (void)nodes_.hear(std::move(report), time_.now());
    for (const Container& one : agent_.controller()->seen().containers) {
      const auto job = running_.find(one.id);
      if (job != running_.end()) job->second.reported = true;
    }
    if (scene_.own_gate) start_jobs(elapsed());
  }

  [[nodiscard]] double elapsed() const { return to_seconds(time_.now() - at(0)) * 1000; }

  [[nodiscard]] bool may_start(const std::string& id, double now) {
    MemoryController* const own = agent_.controller();
    if (scene_.own_gate) return own && own->ask(id, scene_.load.limit, at(now)).granted;
    return has_grant(now);
  }

  /// The autoscaler's part: one more replica, by the last report.
  [[nodiscard]] bool has_grant(double now) {
    const auto running = static_cast<std::int32_t>(running_.size());
    std::vector<placement::ReplicaAt> replicas;
    for (const auto& [id, job] : running_) {
      replicas.push_back(
          {.node = "node", .settled = job.reported || at(now) - at(job.started) >= kClaimKept});
    }
    const auto granted =
        placement_.ask({"default", "jobs"}, {.wanted = running + 1,
                                             .ordered = running,
                                             .each = {.memory = scene_.load.limit, .slots = 1},
                                             .replicas = replicas,
                                             .now = at(now)});
    return granted.replicas > running;
  }

  void start_jobs(double now) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (static_cast<int>(running_.size()) + backing_off(now) >= scene_.at_once &&
          it->attempt == 0) {
        return;
      }
      if (it->may_start > now) {
        ++it;
        continue;
      }
      const std::string id =
          "job-" + std::to_string(it->number) + "-" + std::to_string(it->attempt);
      if (!may_start(id, now)) return;
      Container one = shown(id, now);
      one.name = "job-" + std::to_string(it->number);
      one.attempt = it->attempt;
      one.job_template = "job";
      one.marks.batch = true;
      const bool limited = scene_.bystanders && it->number % 3 == 0;
      kernel_.create(one, scene_.load, limited ? CpuQuota{60'000, 100'000} : kUnlimited, now);
      running_[id] = {.job = *it, .started = now};
      agent_.begin(id);
      // Where births are watched nothing else tells of them before the next list.
      if (!scene_.sight_ms) agent_.news(!scene_.own_gate);
      it = waiting_.erase(it);
    }
  }

  [[nodiscard]] int backing_off(double now) const {
    return static_cast<int>(std::count_if(waiting_.begin(), waiting_.end(), [&](const Job& job) {
      return job.attempt > 0 && job.may_start > now;
    }));
  }

  void end(const std::string& id, double now, int& restarts) {
    const auto found = running_.find(id);
    if (found == running_.end()) return breach("killed a bystander: " + id);
    ++restarts;
    run_.wasted_ms += last_cpu_[id];
    Job job = found->second.job;
    const double backoff = std::min(10.0 * std::exp2(job.attempt), 300.0) * 1000;
    job.may_start = now + backoff * scene_.backoff_scale;
    ++job.attempt;
    running_.erase(found);
    paused_since_.erase(id);
    waiting_.push_front(job);
  }

  void account(double now) {
    if (now - decided_ > (faulty_ ? kDecidesAgainMs : kDecidesMs)) {
      breach("no decision was made");
      decided_ = now;
    }
    run_.peak = std::max(run_.peak, kernel_.used());
    bool throttled = false;
    for (const auto& [id, group] : kernel_.groups()) {
      run_.core_ms += group.cpu_ms - last_cpu_[id];
      last_cpu_[id] = group.cpu_ms;
      if (!is_paused(group)) {
        paused_since_.erase(id);
        ran_ms_[id] += scene_.step_ms;
        continue;
      }
      throttled = true;
      const double since = paused_since_.try_emplace(id, now).first->second;
      if (ran_ms_[id] > kRanMs) {
        run_.longest_pause_ms = std::max(run_.longest_pause_ms, now - since);
      }
    }
    if (!throttled || !is_calm()) calm_since_ = now;
    // Calls that are lost or late may prolong it; what must not be is that it never ends.
    const double patience = kCalmMs + (faulty_ ? kSettleMs : 0);
    if (now - calm_since_ > patience) {
      breach("throttled without a reason");
      calm_since_ = now;
    }
  }

  /// No container needs to be held back: usage is far below the concern of the headroom rule; of
  /// the rule of foresight, which holds before memory is used, all could reach their limits.
  [[nodiscard]] bool is_calm() const {
    if (settings_.policy != PolicyKind::foresight) {
      const double calm = settings_.concern - settings_.release_margin - 0.1;
      return static_cast<double>(kernel_.used()) < calm * static_cast<double>(scene_.capacity);
    }
    std::int64_t limits = settings_.reserve;
    for (const auto& [id, group] : kernel_.groups()) limits += group.load.limit;
    return limits <= scene_.capacity - scene_.capacity / kCalmShare;
  }

  void breach(const std::string& what) { run_.breaches.push_back(what); }

  NodeScene scene_;
  PolicySettings settings_;
  bool faulty_;
  SimKernel kernel_;
  ManualTime time_{at(-kLeadMs)};
  SimAgent agent_;
  autoscaler::NodeBook nodes_;
  placement::Placement placement_{nodes_.gates()};
  std::deque<Job> waiting_;
  std::map<std::string, Running> running_;
  std::map<std::string, double> last_cpu_;
  std::map<std::string, double> paused_since_;
  std::map<std::string, double> ran_ms_;
  double calm_since_ = 0;
  double decided_ = 0;
  NodeRun run_;
};

}  // namespace

NodeScene lab(int at_once) {
  return {.capacity = 512 * kMiB,
          .cores = 1,
          .load = {.limit = 64 * kMiB, .step = 4 * kMiB, .cycles = 40, .nap_ms = 60, .work_ms = 3},
          .jobs = 22,
          .at_once = at_once,
          .backoff_scale = 0.03,
          .step_ms = 10,
          .give_up_ms = 600'000};
}

NodeScene full_size(int at_once) {
  return {.capacity = 32 * 1024 * kMiB,
          .cores = 8,
          .load = {.limit = 4096 * kMiB,
                   .step = 512 * kMiB,
                   .cycles = 40,
                   .nap_ms = 1000,
                   .work_ms = 1000},
          .jobs = 50,
          .at_once = at_once,
          .backoff_scale = 1,
          .step_ms = 50,
          .give_up_ms = 36'000'000};
}

NodeScene faithful(NodeScene scene) {
  // Two steps of 0.1 s a cycle in the mean; a rest and the nap before the next step are 45 % of it.
  constexpr double kRestPerStep = 100.0 / 60.0;
  scene.load.step = scene.load.limit / 8;
  scene.load.rest_ms = kRestPerStep * scene.load.nap_ms;
  return scene;
}

NodeRun play(const NodeScene& scene, const MemoryController::Options& rules, std::uint64_t seed,
             const NodeFaults& faults, const Doctoring& doctoring) {
  return Replay{scene, rules, seed, faults, doctoring}.play();
}

Sum pooled(const NodeScene& scene, const MemoryController::Options& rules, std::uint64_t seeds,
           const NodeFaults& faults) {
  Sum sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const NodeRun run = play(scene, rules, seed, faults);
    sum.own += run.restarts_own;
    sum.kernel += run.restarts_kernel;
    sum.makespan_s += run.makespan_ms / 1000;
    sum.wasted_s += run.wasted_ms / 1000;
    sum.updates += run.updates;
    sum.longest_pause_ms = std::max(sum.longest_pause_ms, run.longest_pause_ms);
    for (const std::string& breach : run.breaches) {
      sum.breaches += "seed " + std::to_string(seed) + ": " + breach + "\n";
    }
  }
  return sum;
}

MemoryController::Options throttling(PolicyKind policy) {
  constexpr std::int64_t kReserve = 4 * kMiB;  // 200 MiB of 32 GiB
  MemoryController::Options rules;
  rules.policy.policy = policy;
  rules.policy.reserve = kReserve;
  rules.policy.gate = false;
  rules.policy.kin_known_after = std::chrono::seconds{3};  // jobs take a twentieth of their time
  return rules;
}

bool breaks(std::string_view claim, const Doctoring& doctoring, const NodeFaults& faults,
            PolicyKind policy) {
  const MemoryController::Options rules = throttling(policy);
  NodeScene scene = lab(12);
  scene.bystanders = true;
  const bool foresees = policy == PolicyKind::foresight;
  if (foresees) scene.sight_ms = 10;
  // Of the time without a rule. It takes 0.67 of it; with the brake alone 0.73.
  constexpr double kTimeSaved = 0.7;
  double spent_s = 0;
  constexpr std::uint64_t kSeeds = 10;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    NodeRun run = play(scene, rules, seed, faults, doctoring);
    const int restarts = run.restarts_kernel + run.restarts_own;
    if (foresees && restarts > 0) run.breaches.emplace_back("a container was killed");
    spent_s += run.makespan_ms / 1000;
    const bool found = std::any_of(
        run.breaches.begin(), run.breaches.end(),
        [&](const std::string& breach) { return breach.find(claim) != std::string::npos; });
    if (found) return true;
  }
  const bool slow =
      foresees &&
      spent_s > kTimeSaved * pooled(scene, throttling(PolicyKind::off), kSeeds).makespan_s;
  return slow && std::string_view{"time was lost"}.find(claim) != std::string_view::npos;
}

}  // namespace sluice::node_agent
