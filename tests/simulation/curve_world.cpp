#include "tests/simulation/curve_world.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::simulation {

using autoscaler::RouteMode;
using std::chrono::seconds;

namespace {

// Requests are whole, and averages over a second come in parts of one; less than this is no
// request.
constexpr double kLoadGrain = 0.25;
// Up to here each pod has a start time of its own, above they come in groups.
constexpr std::int32_t kGroups = 20;

}  // namespace

CurveWorld::CurveWorld(Curve curve)
    : curve_(std::move(curve)),
      random_(curve_.seed),
      start_(seconds{1'700'000'000}),
      scaler_({.scaling = curve_.scaling, .revision = "app-00001", .replicas = 0}, 0, start_),
      properties_(curve_.watched_as.value_or(curve_.scaling), 0, start_) {}

CurveOutcome CurveWorld::run() {
  while (since_ < curve_.length + curve_.quiet && outcome_.breach.empty()) {
    since_ += seconds{1};
    play_second();
  }
  outcome_.want_at_end = scaler_.want();
  return std::move(outcome_);
}

void CurveWorld::play_second() {
  jump();
  pods_become_ready();
  pods_die();
  const double load = since_ < curve_.length ? curve_.load(since_) : 0;
  const double before = std::exchange(load_, std::floor(load / kLoadGrain) * kLoadGrain);
  arrive(before);
  report();
  if (since_ / seconds{1} % 2 == 0) evaluate(autoscaler::Trigger::tick);
}

void CurveWorld::jump() {
  if (jumped_ == curve_.jumps.size() || since_ < curve_.jumps[jumped_].at) return;
  offset_ += curve_.jumps[jumped_++].by;
}

// The first request after a pause is reported at once, if it meets an activator.
void CurveWorld::arrive(double before) {
  if (load_ == 0 || before > 0) return;
  known_ = false;
  const bool seen = ready_ == 0 || route_mode_ == RouteMode::proxy;
  if (!seen || deaf()) return;
  known_ = true;
  if (scaler_.push({.average_concurrency = 1, .request_count = 1}, clock())) {
    evaluate(autoscaler::Trigger::poke);
  }
}

// Without pods the activators hold everything; without a scrape target they see everything.
void CurveWorld::report() {
  if (deaf() || chance() < curve_.stat_loss) return;
  if (ready_ > 0 && curve_.scaling.decider.has_scrape_target) return scrape();
  if (load_ == 0) return;
  known_ = true;
  const bool poke = scaler_.push(
      {.average_concurrency = load_, .request_count = load_ * curve_.requests_per_second}, clock());
  if (poke) evaluate(autoscaler::Trigger::poke);
}

void CurveWorld::scrape() {
  const auto asked = static_cast<std::size_t>(autoscaler::sample_size(ready_));
  std::vector<autoscaler::Stat> answers;
  for (std::size_t i = 0; i < asked; ++i) {
    const double own = load_ / ready_ * (1 + curve_.spread * (2 * chance() - 1));
    answers.push_back(
        {.average_concurrency = own, .request_count = own * curve_.requests_per_second});
  }
  scaler_.scraped(autoscaler::scrape_average(answers, ready_), clock());
  known_ = known_ || load_ > 0;
}

void CurveWorld::evaluate(autoscaler::Trigger trigger) {
  autoscaler::ScaleInputs inputs{.trigger = trigger, .ready = ready_};
  inputs.activator_connected = !deaf();
  if (curve_.cluster) {
    inputs.probe_ok = chance() < 0.9;
    inputs.proxy_for.reset();
    if (route_mode_ == RouteMode::proxy) inputs.proxy_for = since_ - proxy_since_;
  }
  const std::int32_t before = scaler_.want();
  const autoscaler::ScaleState state = scaler_.evaluate(inputs, clock());
  const double in_flight = known_ ? std::ceil(load_) : 0;
  const std::string broken = properties_.check(
      state, {.want_before = before, .in_flight = static_cast<std::uint64_t>(in_flight)});
  if (!broken.empty()) {
    outcome_.breach = "seed " + std::to_string(curve_.seed) + " at " +
                      std::to_string(since_ / seconds{1}) + " s: " + broken;
  }
  if (curve_.print) outcome_.decisions += printed(state);
  if (curve_.watch) curve_.watch(since_, state);
  count(state, before);
  if (std::exchange(route_mode_, state.route_mode) != state.route_mode) proxy_since_ = since_;
  const std::int32_t running = ready_ + starting();
  if (running < state.want) start_pods(state.want - running);
  if (running > state.want) stop_pods(running - state.want);
}

void CurveWorld::count(const autoscaler::ScaleState& state, std::int32_t before) {
  using autoscaler::Bound;
  ++outcome_.evaluations;
  if (!state.record.valid) ++outcome_.without_data;
  if (state.record.mode == autoscaler::Mode::panic) ++outcome_.panicking;
  const Bound bound = state.record.decider_bound;
  if (bound == Bound::scale_down_delay) ++outcome_.held;
  if (bound == Bound::scale_up_rate || bound == Bound::scale_down_rate) ++outcome_.limited;
  if (before == 0 && state.want > 0) ++outcome_.wakes;
  if (before > 0 && state.want == 0) ++outcome_.sleeps;
  outcome_.pods_max = std::max(outcome_.pods_max, state.want);
}

void CurveWorld::start_pods(std::int32_t count) {
  const std::int32_t groups = std::min(count, kGroups);
  for (std::int32_t group = 0; group < groups; ++group) {
    const std::int32_t size = count / groups + (group < count % groups ? 1 : 0);
    const double took = chance() * to_seconds(curve_.start.to - curve_.start.from);
    starting_[since_ + curve_.start.from + from_seconds(took)] += size;
  }
}

// Those that are not ready yet go first, the youngest of them before the others.
void CurveWorld::stop_pods(std::int32_t count) {
  while (count > 0 && !starting_.empty()) {
    const auto last = std::prev(starting_.end());
    const std::int32_t stopped = std::min(count, last->second);
    count -= stopped;
    last->second -= stopped;
    if (last->second == 0) starting_.erase(last);
  }
  ready_ -= std::min(count, ready_);
}

void CurveWorld::pods_become_ready() {
  std::int32_t failed = 0;
  while (!starting_.empty() && starting_.begin()->first <= since_) {
    const std::int32_t group = starting_.begin()->second;
    const bool fails = crashing() && chance() < curve_.failed_starts;
    (fails ? failed : ready_) += group;
    starting_.erase(starting_.begin());
  }
  outcome_.deaths += static_cast<std::uint64_t>(failed);
  if (failed > 0) start_pods(failed);
}

void CurveWorld::pods_die() {
  if (!crashing() || curve_.deaths == 0) return;
  const double expected = curve_.deaths * ready_;
  const auto dead = static_cast<std::int32_t>(expected + chance());
  ready_ -= std::min(dead, ready_);
  outcome_.deaths += static_cast<std::uint64_t>(dead);
  start_pods(dead);
}

bool CurveWorld::deaf() const {
  return since_ >= curve_.deaf.from && since_ < curve_.deaf.to;
}

bool CurveWorld::crashing() const {
  return since_ < curve_.healed;
}

std::int32_t CurveWorld::starting() const {
  std::int32_t sum = 0;
  for (const auto& [at, count] : starting_) sum += count;
  return sum;
}

double CurveWorld::chance() {
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

}  // namespace sluice::simulation
