#include "memory-pressure/io/container_watch.h"

#include "common/json/parse.h"
#include "common/json/read.h"

#include "memory-pressure/core/quota.h"
#include "memory-pressure/io/pod_marks.h"
#include <algorithm>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

constexpr std::size_t kDescriptionsAtOnce = 8;
constexpr int kMissesMax = 3;  // then a listed container is a ghost (row 69d)
constexpr Duration kSandboxesEvery = std::chrono::seconds{5};

constexpr std::size_t kBoundsAtOnce = 25;

constexpr std::size_t kUnbornMax = 1024;
constexpr Duration kUnbornFor = std::chrono::minutes{1};

// One container costs some 40 us of reading. Reading them all takes four thousandths of a core in
// quiet times, and up to a twentieth while a decision hangs on it.
constexpr Duration kQuietShare = std::chrono::milliseconds{10};
constexpr Duration kHurryShare = std::chrono::microseconds{800};

TimePoint at_unix_time(std::int64_t nanoseconds) {
  return TimePoint{Duration{nanoseconds}};
}

// What the runtime shows of a container that it has not set a quota for is 0.
std::optional<CpuQuota> told_quota(const std::optional<cri::Resources>& resources) {
  if (!resources) return std::nullopt;
  return normalised({resources->cpu_quota_us, resources->cpu_period_us});
}

}  // namespace

std::optional<pid_t> pid_in(const std::string& info) {
  const std::int64_t number = reading::whole(reading::parsed(info), "pid").value_or(0);
  if (number <= 0 || number > (std::int64_t{1} << 30)) return std::nullopt;
  return static_cast<pid_t>(number);
}

std::string sandbox_in(const std::string& info) {
  return reading::text(reading::parsed(info), "sandboxID");
}

ContainerWatch::ContainerWatch(CriClient& client, const Clock& clock, Options options)
    : client_{client},
      clock_{clock},
      root_{std::move(options.root)},
      mounts_{find_cgroup_mounts(root_)},
      freezer_{mounts_.freezer} {
  if (const auto own = own_cgroup_paths(mounts_, root_)) own_cgroup_ = own->memory;
}

Duration ContainerWatch::interval(std::size_t count, bool hurry) {
  return (hurry ? kHurryShare : kQuietShare) * static_cast<std::int64_t>(count);
}

void ContainerWatch::born(const std::vector<Birth>& births) {
  bool news = false;
  for (const Birth& birth : births) {
    if (knows(birth.id)) continue;
    const auto paths = paths_of(birth);
    if (!paths || paths->memory.find(birth.id) == std::string::npos) continue;  // over already
    Known& known = known_[birth.id];
    known.seen.id = birth.id;
    known.seen.described = false;
    known.seen.born = known.seen.started = birth.seen;
    place(known, *paths);
    describe_newborn(birth.id);
    news = true;
  }
  if (news) tell_born();
}

// Runtimes make the same path in every hierarchy. The process is asked only where they have not:
// its answer waits for the kernel's lock on all groups, some 30 ms while others are made, and from
// a namespace of our own shows another path.
std::optional<CgroupPaths> ContainerWatch::paths_of(const Birth& birth) const {
  const auto has = [&birth](const CgroupMount& mount) {
    return ::access(mount.directory(birth.group).c_str(), F_OK) == 0;
  };
  if (!birth.group.empty() && has(mounts_.memory) && has(mounts_.cpu) && has(mounts_.freezer)) {
    return CgroupPaths{
        .memory = birth.group, .cpu = birth.group, .freezer = birth.group, .unified = birth.group};
  }
  return cgroup_paths(birth.pid, mounts_, root_);
}

void ContainerWatch::tell_born() {
  if (born_) born_();
}

void ContainerWatch::expect(const std::string& id) {
  if (knows(id) || unborn_.contains(id) || unborn_.size() >= kUnbornMax) return;
  unborn_[id].since = clock_.now();
  client_.status(id, true, [this, id, alive = alive_.watch()](auto status) {
    if (alive.over()) return;
    const auto at = unborn_.find(id);
    const bool born = at == unborn_.end();
    if (born && status) return newborn_described(id, status);
    // A sandbox; or the question came too early for this runtime.
    if (born && known_.contains(id)) ask_about_newborn(id);
    if (!status) unborn_.erase(id);
    if (born || !status) return;
    at->second.told = std::move(*status);
    if (!sandboxes_.contains(sandbox_in(at->second.told->info))) place_newborn();
  });
}

// By the answer that came before it was born, or is on its way.
void ContainerWatch::describe_newborn(const std::string& id) {
  const auto unborn = unborn_.extract(id);
  if (!unborn) return ask_about_newborn(id);
  known_.at(id).asked = true;
  if (unborn.mapped().told) newborn_described(id, std::move(*unborn.mapped().told));
}

void ContainerWatch::ask_about_newborn(const std::string& id) {
  known_.at(id).asked = true;
  client_.status(id, true, [this, id, alive = alive_.watch()](auto status) {
    if (!alive.over()) newborn_described(id, status);
  });
}

// Who asked too early is asked about again by the next list.
void ContainerWatch::newborn_described(const std::string& id,
                                       const Result<cri::ContainerStatus, CallFailure>& status) {
  const auto at = known_.find(id);
  if (at == known_.end()) return;
  Known& known = at->second;
  known.asked = false;
  if (known.described) return;
  if (!status) {
    if (status.error().outcome != Outcome::not_found || known.listed) return;
    // The sandbox of a pod begins like a container. It is not the rule's affair, but it may have
    // been held meanwhile: it stays until it runs on.
    known.seen.described = known.seen.marks.system = true;
    return tell_born();
  }
  if (status->state == cri::State::exited) return;
  known.told.id = id;
  known.told.sandbox = sandbox_in(status->info);
  known.told.name = status->name;
  known.told.attempt = status->attempt;
  known.told.image = status->image;
  known.told.labels = status->labels;
  known.told.annotations = status->annotations;
  fill(known, *status);
  if (sandboxes_.contains(known.told.sandbox)) {
    mark_all();
    return tell_born();
  }
  place_newborn();
}

// Its pod is younger than the last list of pods.
void ContainerWatch::place_newborn() {
  if (std::exchange(placing_, true)) return;
  client_.list_sandboxes([this, alive = alive_.watch()](auto list) {
    if (alive.over()) return;
    placing_ = false;
    if (!list) return;
    take_sandboxes(std::move(*list));
    mark_all();
    tell_born();
  });
}

void ContainerWatch::look(std::function<void(bool)> done) {
  if (done) waiting_.push_back(std::move(done));
  if (std::exchange(looking_, true)) return;
  pending_ = 1;
  stats_asked_ = false;
  client_.list_running([this, alive = alive_.watch()](auto list) {
    if (alive.over()) return;
    if (!list) return finish(false);
    listed(std::move(*list));
  });
}

void ContainerWatch::listed(Listed list) {
  std::set<std::string> ids;
  bool strangers = !sandboxes_at_;
  for (cri::Container& each : list) {
    if (each.state != cri::State::running) continue;
    ids.insert(each.id);
    strangers = strangers || !sandboxes_.contains(each.sandbox);
    Known& known = known_[each.id];
    known.told = std::move(each);
    known.listed = true;
  }
  for (auto at = known_.begin(); at != known_.end();) {
    const auto here = at++;
    if (!ids.contains(here->first) && !is_newborn(here->second)) forget(here);
  }
  // Annotations of a pod may change while it runs (row 37).
  const TimePoint now = clock_.now();
  std::erase_if(unborn_, [&](const auto& one) { return now - one.second.since > kUnbornFor; });
  if (strangers || now - *sandboxes_at_ >= kSandboxesEvery) look_at_sandboxes();
  for (auto& [id, known] : known_) {
    if (known.described || known.asked) continue;
    if (!known.listed && !known.seen.described) ask_about_newborn(id);
    if (known.listed && known.misses < kMissesMax) to_describe_.push_back(id);
  }
  measure_some_bounds();
  describe_new();
  one_answered();
}

// One may be younger than the list. A sandbox, which is on none, stays while it is held.
bool ContainerWatch::is_newborn(const Known& known) {
  if (known.listed || !known.seen.working_set || known.seen.processes == 0U) return false;
  return known.described || !known.seen.described || known.seen.frozen == true;
}

// What the runtime measures is asked for last, when it is known who needs it.
void ContainerWatch::one_answered() {
  if (--pending_ > 0) return;
  const bool unreadable = std::any_of(known_.begin(), known_.end(), [](const auto& entry) {
    return entry.second.described && !entry.second.files;
  });
  if (unreadable && !std::exchange(stats_asked_, true)) return take_stats();
  mark_all();
  if (!ask_who_froze()) finish(true);
}

// What is frozen when it is first seen was left so by an agent before us, or another program has
// paused it: that is not ours to undo, and is taken for running.
bool ContainerWatch::ask_who_froze() {
  for (auto& [id, known] : known_) {
    const bool first = known.marked && !known.doubted;
    known.doubted = known.doubted || known.marked;
    if (!first || known.seen.born || known.seen.frozen != true) continue;
    ++pending_;
    client_.is_paused(id, [this, id = id, alive = alive_.watch()](auto paused) {
      if (alive.over()) return;
      const auto at = known_.find(id);
      if (at != known_.end() && paused && *paused) {
        at->second.paused = true;
        at->second.seen.frozen.reset();
      }
      one_answered();
    });
  }
  return pending_ > 0;
}

// Limits seldom change: of many containers each look reads a part of them.
void ContainerWatch::measure_some_bounds() {
  const std::size_t parts = std::max<std::size_t>(1, known_.size() / kBoundsAtOnce);
  std::size_t turn = ++bounds_turn_;
  for (auto& [id, known] : known_) {
    if (++turn % parts == 0 && known.files) measure_bounds(known);
  }
}

void ContainerWatch::look_at_sandboxes() {
  ++pending_;
  client_.list_sandboxes([this, alive = alive_.watch()](auto list) {
    if (alive.over()) return;
    if (list) take_sandboxes(std::move(*list));
    one_answered();
  });
}

void ContainerWatch::take_sandboxes(std::vector<cri::Sandbox> list) {
  const auto before = std::exchange(sandboxes_, {});
  sandboxes_at_ = clock_.now();
  for (cri::Sandbox& each : list) {
    const auto known = before.find(each.id);
    const bool ended = known != before.end() && known->second.ready && !each.ready;
    if (ended && pod_ended_) pod_ended_(each.uid);
    sandboxes_.emplace(each.id, std::move(each));
  }
}

void ContainerWatch::describe_new() {
  while (!to_describe_.empty() && pending_ <= kDescriptionsAtOnce) {
    const std::string id = std::move(to_describe_.front());
    to_describe_.pop_front();
    const auto at = known_.find(id);
    if (at == known_.end()) continue;
    at->second.asked = true;
    ++pending_;
    client_.status(id, true, [this, id, alive = alive_.watch()](auto status) {
      if (alive.over()) return;
      described(id, status);
      describe_new();
      one_answered();
    });
  }
}

void ContainerWatch::described(const std::string& id,
                               const Result<cri::ContainerStatus, CallFailure>& status) {
  const auto at = known_.find(id);
  if (at == known_.end()) return;
  Known& known = at->second;
  known.asked = false;
  if (!status) {
    known.misses += status.error().outcome == Outcome::not_found ? 1 : 0;
    return;
  }
  if (status->state != cri::State::running) return;  // it ended since; the next list says so
  fill(known, *status);
  if (known.files) return;
  Container& seen = known.seen;
  seen.memory_limit = known.resources ? known.resources->memory_limit : 0;
  const auto pid = pid_in(status->info);
  const auto paths = pid ? cgroup_paths(*pid, mounts_, root_) : std::nullopt;
  // A process id may have been given away since; the container's name in the path is the proof.
  if (paths && paths->memory.find(id) != std::string::npos) place(known, *paths);
  if (!known.files) seen.quota = told_quota(known.resources);
}

void ContainerWatch::place(Known& known, const CgroupPaths& paths) {
  known.cgroup = paths.memory;
  known.seen.cgroup = paths.freezer;
  known.files = std::make_unique<CgroupFiles>(paths, mounts_);
  measure_bounds(known);
  measure(known, clock_.now());
  if (!known.seen.working_set && !known.seen.quota) known.files.reset();
  if (placed_) placed_(known.cgroup);
}

void ContainerWatch::fill(Known& known, const cri::ContainerStatus& status) {
  known.described = true;
  known.resources = status.resources;
  Container& seen = known.seen;
  seen.id = status.id;
  seen.name = known.told.name;
  seen.attempt = known.told.attempt;
  seen.image = known.told.image;
  // By a runtime's word that the program may not yet have: it began when it was seen to.
  if (status.started_ns > 0) seen.started = at_unix_time(status.started_ns);
}

// For those whose control group is out of sight.
void ContainerWatch::take_stats() {
  ++pending_;
  client_.list_stats([this, alive = alive_.watch()](auto list) {
    if (alive.over()) return;
    if (list) {
      for (const cri::ContainerStats& stats : *list) {
        const auto at = known_.find(stats.id);
        if (at == known_.end() || at->second.files) continue;
        at->second.seen.working_set = stats.working_set;
        at->second.seen.sampled = at_unix_time(stats.sampled_ns);
      }
    }
    one_answered();
  });
}

void ContainerWatch::finish(bool answered) {
  looking_ = false;
  answers_ = answered;
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& done : waiting) done(answered);
}

// Asks how it ended, for those who count restarts.
void ContainerWatch::forget(std::map<std::string, Known>::iterator at) {
  if (at->second.described && ended_) {
    client_.status(at->first, false,
                   [this, seen = at->second.seen, alive = alive_.watch()](auto status) {
                     if (alive.over()) return;
                     if (status) ended_(seen, *status);
                   });
  }
  known_.erase(at);
}

void ContainerWatch::mark_all() {
  std::set<std::string> serving;
  for (const auto& [id, known] : known_) {
    if (known.told.name == kRequestProxy) serving.insert(known.told.sandbox);
  }
  for (auto& [id, known] : known_) {
    if (!known.described) continue;
    const auto sandbox = sandboxes_.find(known.told.sandbox);
    const cri::Sandbox* const pod = sandbox == sandboxes_.end() ? nullptr : &sandbox->second;
    // A runtime that has just been started again may not list every pod: what is known stays.
    if (pod == nullptr && known.placed) continue;
    const PodFacts facts{.sandbox = pod,
                         .container = &known.told,
                         .resources = known.resources ? &*known.resources : nullptr,
                         .cgroup = known.cgroup,
                         .own_cgroup = own_cgroup_,
                         .has_request_proxy = serving.contains(known.told.sandbox)};
    known.seen.marks = marks_of(facts);
    known.seen.job_template = job_template_of(facts);
    known.seen.qos = qos_of(facts);
    known.seen.described = true;
    known.marked = true;
    if (known.seen.marks.batch && !known.seen.frozen && !known.paused) {
      known.seen.frozen = freezer_.frozen(known.seen.cgroup);
    }
    if (pod == nullptr) {
      known.seen.marks.system = true;  // left alone until its pod is known
      continue;
    }
    known.placed = true;
    known.seen.pod = pod->name;
    known.seen.pod_namespace = pod->space;
    known.seen.pod_uid = pod->uid;
  }
}

void ContainerWatch::measure(Known& known, TimePoint now) {
  Container& seen = known.seen;
  const auto before = std::exchange(seen.working_set, known.files->working_set());
  seen.quota = known.files->quota();
  // Who ends gives back memory, and only what is described as a Job's, or not yet, is ever frozen:
  // of all others these reads would cost more than all the rest.
  if (!before || !seen.working_set || *seen.working_set < *before) {
    seen.processes = known.files->processes();
  }
  if (!known.paused && (seen.marks.batch || !seen.described || seen.frozen == true)) {
    seen.frozen = freezer_.frozen(seen.cgroup);
  }
  seen.sampled = now;
}

void ContainerWatch::measure_bounds(Known& known) {
  if (const auto limit = known.files->memory_limit()) known.seen.memory_limit = *limit;
  const CpuQuota quota = known.seen.quota.value_or(CpuQuota{});
  known.seen.pod_quota_us = known.files->parent_quota(quota.period_us);
}

void ContainerWatch::sample(TimePoint now, bool hurry) {
  if (sampled_at_ && now - *sampled_at_ < interval(known_.size(), hurry)) return;
  sampled_at_ = now;
  for (auto& [id, known] : known_) {
    if (known.files) measure(known, now);
  }
}

std::vector<Container> ContainerWatch::containers() const {
  std::vector<Container> all;
  all.reserve(known_.size());
  for (const auto& [id, known] : known_) {
    if (known.marked || known.seen.born) all.push_back(known.seen);
  }
  return all;
}

std::string ContainerWatch::shown(const std::string& id) const {
  const auto at = known_.find(id);
  if (at == known_.end() || !at->second.marked) return {};
  const Container& seen = at->second.seen;
  return seen.pod_namespace + "/" + seen.pod + "/" + seen.name;
}

void ContainerWatch::read_quota(const std::string& id,
                                std::function<void(std::optional<CpuQuota>)> done) {
  const auto at = known_.find(id);
  if (at != known_.end() && at->second.files) {
    Known& known = at->second;
    measure(known, clock_.now());
    done(known.seen.quota);
    return;
  }
  client_.status(id, false,
                 [this, id, done = std::move(done), alive = alive_.watch()](auto status) {
                   if (alive.over()) return;
                   const auto quota = status ? told_quota(status->resources) : std::nullopt;
                   const auto found = known_.find(id);
                   if (found != known_.end() && quota) found->second.seen.quota = quota;
                   done(quota);
                 });
}

void ContainerWatch::freeze(const Freeze& order,
                            const std::function<void(Outcome, const std::string& text)>& done) {
  const Outcome outcome = freezer_.set(order.cgroup, order.frozen);
  const auto at = known_.find(order.id);
  if (at != known_.end()) at->second.seen.frozen = freezer_.frozen(order.cgroup);
  done(outcome, outcome == Outcome::ok ? "" : "the freezer of " + order.cgroup + " refuses");
}

void ContainerWatch::write_first(const Update& order) {
  const auto at = known_.find(order.id);
  if (at == known_.end() || !at->second.files) return;
  at->second.files->set_high(order.memory_high);
  (void)at->second.files->set_quota(order.quota);
}

bool ContainerWatch::reclaim(const std::string& id, std::int64_t bytes) {
  const auto at = known_.find(id);
  return at != known_.end() && at->second.files && at->second.files->reclaim(bytes);
}

}  // namespace sluice::node_agent
