#include "tests/simulation/fleet.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::simulation {

using autoscaler::RouteMode;
using std::chrono::seconds;

namespace {

// Requests are whole, and averages over a second come in parts of one; less than this counts as
// zero.
constexpr double kLoadGrain = 0.25;
// Up to here each pod has a start time of its own, above they come in groups.
constexpr std::int32_t kGroups = 20;

}  // namespace

Fleet::Fleet(FleetWorld world)
    : world_(std::move(world)),
      random_(world_.seed),
      start_(seconds{1'700'000'000}),
      scaler_({.scaling = world_.scaling, .revision = "app-00001", .replicas = 0}, 0, start_),
      properties_(world_.watched_as.value_or(world_.scaling), 0, start_) {}

FleetOutcome Fleet::run() {
  while (since_ < world_.length + world_.quiet && outcome_.breach.empty()) {
    since_ += seconds{1};
    play_second();
  }
  outcome_.want_at_end = scaler_.want();
  return std::move(outcome_);
}

void Fleet::play_second() {
  jump();
  pods_become_ready();
  pods_die();
  const double load = since_ < world_.length ? world_.load(since_) : 0;
  const double before = std::exchange(load_, std::floor(load / kLoadGrain) * kLoadGrain);
  arrive(before);
  report();
  if (since_ / seconds{1} % 2 == 0) evaluate(autoscaler::Trigger::tick);
}

void Fleet::jump() {
  if (jumped_ == world_.jumps.size() || since_ < world_.jumps[jumped_].at) return;
  offset_ += world_.jumps[jumped_++].by;
}

// The first request after a pause is reported at once, if it reaches an activator.
void Fleet::arrive(double before) {
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
void Fleet::report() {
  if (deaf() || chance() < world_.stat_loss) return;
  if (ready_ > 0 && world_.scaling.decider.has_scrape_target) return scrape();
  if (load_ == 0) return;
  known_ = true;
  const bool poke = scaler_.push(
      {.average_concurrency = load_, .request_count = load_ * world_.requests_per_second}, clock());
  if (poke) evaluate(autoscaler::Trigger::poke);
}

void Fleet::scrape() {
  const auto asked = static_cast<std::size_t>(autoscaler::sample_size(ready_));
  std::vector<autoscaler::Stat> answers;
  for (std::size_t i = 0; i < asked; ++i) {
    const double own = load_ / ready_ * (1 + world_.spread * (2 * chance() - 1));
    answers.push_back(
        {.average_concurrency = own, .request_count = own * world_.requests_per_second});
  }
  scaler_.scraped(autoscaler::scrape_average(answers, ready_), clock());
  known_ = known_ || load_ > 0;
}

void Fleet::evaluate(autoscaler::Trigger trigger) {
  autoscaler::ScaleInputs inputs{.trigger = trigger, .ready = ready_};
  inputs.activator_connected = !deaf();
  if (world_.cluster) {
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
    outcome_.breach = "seed " + std::to_string(world_.seed) + " at " +
                      std::to_string(since_ / seconds{1}) + " s: " + broken;
  }
  if (world_.print) outcome_.decisions += printed(state);
  if (world_.watch) world_.watch(since_, state);
  count(state, before);
  if (std::exchange(route_mode_, state.route_mode) != state.route_mode) proxy_since_ = since_;
  const std::int32_t running = ready_ + starting();
  if (running < state.want) start_pods(state.want - running);
  if (running > state.want) stop_pods(running - state.want);
}

void Fleet::count(const autoscaler::ScaleState& state, std::int32_t before) {
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

void Fleet::start_pods(std::int32_t count) {
  const std::int32_t groups = std::min(count, kGroups);
  for (std::int32_t group = 0; group < groups; ++group) {
    const std::int32_t size = count / groups + (group < count % groups ? 1 : 0);
    const double took = chance() * to_seconds(world_.start.to - world_.start.from);
    starting_[since_ + world_.start.from + from_seconds(took)] += size;
  }
}

// Those that are not ready yet go first, the youngest of them before the others.
void Fleet::stop_pods(std::int32_t count) {
  while (count > 0 && !starting_.empty()) {
    const auto last = std::prev(starting_.end());
    const std::int32_t stopped = std::min(count, last->second);
    count -= stopped;
    last->second -= stopped;
    if (last->second == 0) starting_.erase(last);
  }
  ready_ -= std::min(count, ready_);
}

void Fleet::pods_become_ready() {
  std::int32_t failed = 0;
  while (!starting_.empty() && starting_.begin()->first <= since_) {
    const std::int32_t group = starting_.begin()->second;
    const bool fails = crashing() && chance() < world_.failed_starts;
    (fails ? failed : ready_) += group;
    starting_.erase(starting_.begin());
  }
  outcome_.deaths += static_cast<std::uint64_t>(failed);
  if (failed > 0) start_pods(failed);
}

void Fleet::pods_die() {
  if (!crashing() || world_.deaths == 0) return;
  const double expected = world_.deaths * ready_;
  const auto dead = static_cast<std::int32_t>(expected + chance());
  ready_ -= std::min(dead, ready_);
  outcome_.deaths += static_cast<std::uint64_t>(dead);
  start_pods(dead);
}

bool Fleet::deaf() const {
  return since_ >= world_.deaf.from && since_ < world_.deaf.to;
}

bool Fleet::crashing() const {
  return since_ < world_.healed;
}

std::int32_t Fleet::starting() const {
  std::int32_t sum = 0;
  for (const auto& [at, count] : starting_) sum += count;
  return sum;
}

double Fleet::chance() {
  return static_cast<double>(random_() >> 11) * 0x1p-53;
}

}  // namespace sluice::simulation
