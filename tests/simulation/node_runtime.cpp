#include "tests/simulation/node_runtime.h"

#include "memory-pressure/core/quota.h"
#include "memory-pressure/io/container_watch.h"
#include <algorithm>

namespace sluice::node_agent {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr Duration kDownEvery = std::chrono::seconds{12};
constexpr Duration kDownFor = std::chrono::seconds{6};
constexpr Duration kRefusal = std::chrono::milliseconds{1};
constexpr Duration kList = std::chrono::milliseconds{5};
/// From the sight of a birth to the runtime's word about it.
constexpr Duration kDescribe = std::chrono::milliseconds{5};
constexpr Duration kStop = std::chrono::milliseconds{50};
constexpr Duration kStopAnswer = std::chrono::milliseconds{60};

Duration milliseconds(double count) {
  return std::chrono::duration_cast<Duration>(Milliseconds{count});
}

}  // namespace

void SimRuntime::forget() {
  known_.clear();
  born_ = nullptr;
  waiting_.clear();
  answers_ = false;
}

bool SimRuntime::is_down() const {
  if (!parts_.faults.runtime_down) return false;
  const auto within = [since = parts_.time.now() - began_](Duration from) {
    return since >= from && since < from + kDownFor;
  };
  return within(kDownEvery) || within(3 * kDownEvery);
}

void SimRuntime::connect(Found done) {
  parts_.time.after(kRefusal, [this, done = std::move(done)] {
    if (is_down()) return done(RuntimeProblem{Unreachable::refused, {"the runtime is down", ""}});
    done(cri::Version{});
  });
}

void SimRuntime::update(const std::string& id, const CpuQuota& quota, const Answered& done) {
  ++updates_;
  if (in_flight_.contains(id)) breaches_.push_back("two calls in flight for " + id);
  CpuQuota sent = quota;
  if (parts_.doctoring.update) parts_.doctoring.update(sent);
  const bool down = is_down();
  const bool lost = !down && dice() < parts_.faults.lost;
  const bool late = !down && !lost && dice() < parts_.faults.late;
  const bool arrives = !down && (!lost || dice() < 0.5);
  const bool answered = !lost && !late;
  const double latency = late ? 4000 * dice() : 11 + 13 * dice() + (dice() < 0.05 ? 43 : 0);
  if (answered) in_flight_.insert(id);
  parts_.time.after(down ? kRefusal : milliseconds(latency), [=, this] {
    const bool gone = !parts_.kernel.groups().contains(id);
    if (arrives) take_effect(id, sent);
    if (!answered) return;
    in_flight_.erase(id);
    done(down ? Outcome::unavailable : gone ? Outcome::not_found : Outcome::ok, "");
  });
}

void SimRuntime::stop(const std::string& id, Duration /*grace*/, const Answered& done) {
  parts_.time.after(kStop, [this, id] {
    if (touched(id) != nullptr) parts_.stopped(id);
  });
  parts_.time.after(kStopAnswer, [done] { done(Outcome::ok, ""); });
}

Cgroup* SimRuntime::touched(const std::string& id) {
  const auto found = parts_.kernel.groups().find(id);
  if (found == parts_.kernel.groups().end()) return nullptr;
  if (found->second.shown.marks.never) breaches_.push_back("exempt " + id + " was touched");
  return &found->second;
}

void SimRuntime::take_effect(const std::string& id, const CpuQuota& quota) {
  Cgroup* const group = touched(id);
  if (group == nullptr) return;
  if (quota.quota_us == 0) {
    breaches_.push_back("quota 0 was sent");
    return;
  }
  if (is_stricter(group->original, quota)) breaches_.push_back("more than given: " + id);
  group->quota = quota;
}

void SimRuntime::look(std::function<void(bool)> done) {
  waiting_.push_back(std::move(done));
  if (std::exchange(looking_, true)) return;
  parts_.time.after(kList, [this] {
    looking_ = false;
    answers_ = !is_down();
    if (answers_) list();
    for (const auto& waiting : std::exchange(waiting_, {})) waiting(answers_);
  });
}

void SimRuntime::list() {
  known_.clear();
  for (const auto& [id, group] : parts_.kernel.groups()) {
    Container one = group.shown;
    one.memory_limit = std::max(group.load.limit, group.load.told_limit);
    one.started += parts_.clock.now() - parts_.time.now();
    if (const auto born = born_at_.find(id); born != born_at_.end()) one.born = born->second;
    measure(one);
    known_.push_back(one);
  }
}

void SimRuntime::measure(Container& one) {
  const auto found = parts_.kernel.groups().find(one.id);
  const bool here = found != parts_.kernel.groups().end();
  one.working_set = here ? std::optional{found->second.used} : std::nullopt;
  one.quota = here ? std::optional{found->second.quota} : std::nullopt;
  one.frozen = here ? std::optional{found->second.frozen} : std::nullopt;
  one.processes = here ? 1 : 0;
  one.sampled = parts_.clock.now();
}

void SimRuntime::begin(const std::string& id) {
  if (!parts_.sight_ms) return;
  const Duration sight = milliseconds(*parts_.sight_ms);
  parts_.time.after(sight, [this, id] { see_birth(id, false); });
  parts_.time.after(sight + kDescribe, [this, id] { see_birth(id, true); });
}

// What the control groups show at once, and what one status of the runtime adds.
void SimRuntime::see_birth(const std::string& id, bool described) {
  const auto group = parts_.kernel.groups().find(id);
  if (!born_ || group == parts_.kernel.groups().end() || (described && is_down())) return;
  const TimePoint born = born_at_.try_emplace(id, parts_.clock.now()).first->second;
  auto known = std::find_if(known_.begin(), known_.end(),
                            [&](const Container& one) { return one.id == id; });
  if (known == known_.end()) known = known_.insert(known_.end(), Container{});
  if (known->described && !known->id.empty()) return;
  if (described) *known = group->second.shown;
  known->id = id;
  known->cgroup = group->second.shown.cgroup;
  known->memory_limit = std::max(group->second.load.limit, group->second.load.told_limit);
  known->described = described;
  known->born = born;
  measure(*known);
  born_();
}

void SimRuntime::freeze(const Freeze& order,
                        const std::function<void(Outcome, const std::string& text)>& done) {
  ++freezes_;
  Cgroup* const group = touched(order.id);
  if (group == nullptr) return done(Outcome::not_found, "");
  if (!parts_.doctoring.loses_thaws || order.frozen) group->frozen = order.frozen;
  done(Outcome::ok, "");
}

void SimRuntime::sample(TimePoint /*now*/, bool hurry) {
  const TimePoint now = parts_.time.now();
  if (now - sampled_ < ContainerWatch::interval(known_.size(), hurry)) return;
  sampled_ = now;
  for (Container& one : known_) measure(one);
}

void SimRuntime::read_quota(const std::string& id,
                            std::function<void(std::optional<CpuQuota>)> done) {
  const auto found = parts_.kernel.groups().find(id);
  if (found == parts_.kernel.groups().end()) return done(std::nullopt);
  done(found->second.quota);
}

}  // namespace sluice::node_agent
