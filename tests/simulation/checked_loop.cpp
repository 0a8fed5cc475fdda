#include "tests/simulation/checked_loop.h"

#include "tests/simulation/properties.h"

#include "load/core/portable_math.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::simulation {

namespace {

// A poke and the evaluation it causes are immediate. Only a request that comes while the last pod
// drains waits for a per-second report, and those may be lost several times in a row.
constexpr Duration kStrandedMax = std::chrono::seconds{30};

std::string broken_at_end(const Outcome& outcome) {
  if (outcome.left > 0) return "requests never ended";
  if (outcome.dismissed > 0) return "a waiter was put out although growth is possible";
  if (outcome.stranded > kStrandedMax) return "a request waits and nothing wakes";
  return "";
}

}  // namespace

// Drawn at the rate of now, and again when none falls within a second, so that a rate that changes
// is followed without integrating it.
Traffic at_rate(std::function<double(Duration)> rate) {
  return [rate = std::move(rate)](Duration since, std::mt19937_64& random) {
    const double now = rate(since);
    const double wait = now > 0 ? -std::log(1 - loadgen::unit_of(random())) / now : 2.0;
    const Duration step = from_seconds(std::clamp(wait, 1e-6, 1.0));
    return std::optional{NextArrival{.at = since + step, .comes = wait <= 1.0}};
  };
}

Outcome checked(World world, std::string* decisions) {
  const std::uint64_t seed = world.seed;
  std::optional<Properties> properties;
  const autoscaler::ScalingSpec scaling = world.scaling;
  world.judge = [&](const autoscaler::ScaleState& state, const Circumstances& around) {
    if (decisions != nullptr) *decisions += printed(state);
    return properties->check(state, around);
  };
  Loop loop{std::move(world)};
  properties.emplace(scaling, 0, loop.start());
  Outcome outcome = loop.run();
  const std::string broken = broken_at_end(outcome);
  if (outcome.breach.empty() && !broken.empty()) {
    outcome.breach = "seed " + std::to_string(seed) + ": " + broken;
  }
  return outcome;
}

}  // namespace sluice::simulation
