#include "tests/simulation/shapes.h"

#include "tests/simulation/checked_loop.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::simulation {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// More than any minimum, initial or activation scale that is drawn.
constexpr double kPodsBeside = 20;

/// Small draws by name.
class Dice {
 public:
  explicit Dice(std::mt19937_64& random) : random_(random) {}

  std::int64_t from(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

  bool once_in(std::int64_t times) { return from(1, times) == 1; }

  double pick(std::initializer_list<double> choices) {
    return choices.begin()[random_() % choices.size()];
  }

  seconds time(std::int64_t least, std::int64_t most) { return seconds{from(least, most)}; }

 private:
  std::mt19937_64& random_;  // of the function that makes the dice
};

// Long enough for everything that stands between the last request and rest: each step down may
// wait for a delay of its own, since the next answer looks at the pods that are still there.
Duration quiet_for(const autoscaler::ScalingSpec& scaling, Duration start, double pods) {
  Duration steps{0};
  for (; pods >= 1; pods = std::floor(pods / scaling.decider.max_scale_down_rate)) {
    steps += scaling.decider.scale_down_delay + seconds{4};
  }
  return steps + 3 * scaling.decider.stable_window + scaling.decider.scale_down_delay +
         scaling.zero.retention + 2 * scaling.zero.grace + 3 * start + minutes{4};
}

// A revision that cannot start in time is given up, even while requests wait; that is another test.
void allow_start(autoscaler::ScalingSpec& scaling, const Range& start) {
  scaling.zero.progress_deadline = std::max(scaling.zero.progress_deadline, start.to);
}

// A second of a lost stat must not look like the end of the load.
double loss_for(const autoscaler::ScalingSpec& scaling, Dice& dice) {
  const bool bears_it =
      scaling.decider.has_scrape_target || scaling.decider.stable_window >= seconds{30};
  return bears_it ? dice.pick({0, 0, 0.2}) : 0;
}

}  // namespace

std::string_view name(Shape shape) {
  switch (shape) {
    case Shape::step:
      return "step";
    case Shape::spike:
      return "spike";
    case Shape::ramp:
      return "ramp";
    case Shape::on_off:
      return "on_off";
    case Shape::diurnal:
      return "diurnal";
    case Shape::slow_starters:
      return "slow_starters";
    case Shape::crash_loops:
      return "crash_loops";
  }
  return "";
}

std::function<double(Duration)> load_of(Shape shape, Duration length, double peak,
                                        std::mt19937_64& random) {
  Dice dice(random);
  const double low = dice.pick({0, 0.02, 0.2}) * peak;
  const Duration on = dice.time(5, 120);
  const Duration off = dice.time(0, 400);
  switch (shape) {
    case Shape::step:
    case Shape::crash_loops: {
      const Duration at = length * dice.from(1, 5) / 10;
      return [=](Duration since) { return since < at ? low : peak; };
    }
    case Shape::spike: {
      const Duration every = dice.time(100, 900);
      const Duration lasts = dice.time(1, 20);
      return [=](Duration since) { return since % every < lasts ? peak : low; };
    }
    case Shape::ramp:
      return [=](Duration since) {
        return peak * (1 - std::abs(2 * to_seconds(since) / to_seconds(length) - 1));
      };
    case Shape::on_off:
    case Shape::slow_starters:
      return [=](Duration since) { return since % (on + off) < on ? peak : 0.0; };
    case Shape::diurnal:
      // No requests at night; by day two hills.
      return [=](Duration since) {
        const double turn = to_seconds(since) / to_seconds(hours{24});
        const double hill = std::sin(2 * std::numbers::pi * (turn - 0.25));
        return hill > 0 ? peak * hill * (1 + std::cos(8 * std::numbers::pi * turn)) / 2 : 0.0;
      };
  }
  return {};
}

autoscaler::ScalingSpec scaling_from(std::mt19937_64& random) {
  Dice dice(random);
  autoscaler::ScalingSpec scaling;
  autoscaler::DeciderSpec& decider = scaling.decider;
  if (dice.once_in(3)) decider.metric = autoscaler::ScalingMetric::rps;
  if (dice.once_in(3)) decider.aggregation = autoscaler::Aggregation::weighted;
  decider.target_value = 0.7 * static_cast<double>(dice.from(1, 20));
  decider.total_value = decider.target_value / 0.7;
  decider.target_burst_capacity = dice.pick({-1, 0, 20, 211});
  decider.has_scrape_target = decider.target_burst_capacity != -1;
  decider.max_scale_up_rate = dice.pick({1.1, 1.5, 2, 10, 1000});
  decider.max_scale_down_rate = dice.pick({1.1, 2, 2, 10});
  decider.panic_threshold = dice.pick({1.1, 1.5, 2, 2, 4});
  decider.stable_window = dice.time(6, 120);
  decider.panic_window =
      std::max(seconds{1}, seconds{decider.stable_window / seconds{1} * dice.from(1, 5) / 10});
  if (dice.once_in(2)) decider.scale_down_delay = dice.time(1, 300);
  decider.initial_scale = static_cast<std::int32_t>(dice.from(0, 3));
  decider.activation_scale = static_cast<std::int32_t>(dice.pick({0, 0, 1, 2, 5}));
  scaling.bounds.min = static_cast<std::int32_t>(dice.pick({0, 0, 0, 1, 3}));
  scaling.bounds.max = std::max({scaling.bounds.min, decider.initial_scale, 1}) +
                       static_cast<std::int32_t>(dice.from(0, 12));
  scaling.zero.enabled = !dice.once_in(10);
  scaling.zero.grace = dice.time(0, 60);
  if (dice.once_in(3)) scaling.zero.retention = dice.time(1, 120);
  scaling.zero.progress_deadline = dice.time(60, 600);
  return scaling;
}

World world_of(Shape shape, std::uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + static_cast<std::uint64_t>(shape));
  Dice dice(random);
  World world{.seed = seed, .scaling = scaling_from(random)};
  const bool rps = world.scaling.decider.metric == autoscaler::ScalingMetric::rps;
  world.container_concurrency = static_cast<std::int32_t>(rps ? 0 : dice.pick({0, 1, 10, 20}));
  world.queue_depth = static_cast<std::int32_t>(dice.from(1, 500));
  world.stat_loss = loss_for(world.scaling, dice);
  // A rate counts requests at their arrival only: those that outlive the window must be kept too.
  const Range service{milliseconds{5}, milliseconds{dice.from(10, rps ? 300'000 : 20'000)}};
  Range start{milliseconds{50}, milliseconds{dice.from(60, 10'000)}};
  world.length = shape == Shape::diurnal ? Duration{hours{48}} : Duration{minutes{15}};
  double peak = static_cast<double>(dice.from(1, 30));
  if (shape == Shape::diurnal) peak = 0.5;
  if (shape == Shape::slow_starters) start = {seconds{60}, dice.time(61, 400)};
  if (shape == Shape::crash_loops) {
    start = {seconds{1}, seconds{8}};
    world.failed_starts = dice.pick({0.3, 0.9, 1});
    world.life = Times::even(Duration{0}, dice.time(1, 60));
    world.healed = world.length;
  }
  world.start = Times::even(start.from, start.to);
  world.service = Times::even(service.from, service.to);
  allow_start(world.scaling, start);
  world.traffic = at_rate(load_of(shape, world.length, peak, random));
  world.quiet = quiet_for(world.scaling, start.to + service.to, world.scaling.bounds.max);
  return world;
}

Curve curve_of(Shape shape, std::uint64_t seed) {
  std::mt19937_64 random(seed * 104'729 + static_cast<std::uint64_t>(shape));
  Dice dice(random);
  Curve curve{.seed = seed, .scaling = scaling_from(random)};
  if (dice.once_in(2)) curve.scaling.bounds.max = 0;
  curve.cluster = dice.once_in(2);
  curve.stat_loss = loss_for(curve.scaling, dice);
  curve.length = shape == Shape::diurnal ? hours{72} : hours{6};
  curve.requests_per_second = dice.pick({0.5, 2, 20});
  if (shape == Shape::slow_starters) curve.start = {seconds{60}, dice.time(61, 600)};
  if (shape == Shape::crash_loops) {
    curve.failed_starts = dice.pick({0.3, 0.9, 1});
    curve.deaths = dice.pick({0, 0.01, 0.3});
    curve.healed = curve.length;
  }
  allow_start(curve.scaling, curve.start);
  const double peak = dice.pick({1, 10, 300, 2000});
  curve.load = load_of(shape, curve.length, peak, random);
  const double demand = 2 * peak * std::max(1.0, curve.requests_per_second);
  const double pods = demand / curve.scaling.decider.target_value + kPodsBeside;
  curve.quiet = quiet_for(curve.scaling, curve.start.to, pods);
  return curve;
}

}  // namespace sluice::simulation
