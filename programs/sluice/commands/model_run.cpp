#include "programs/sluice/commands/model_run.h"

#include "autoscaler/core/recording/recorded_input.h"
#include "common/scaling/annotations.h"
#include "common/scaling/cluster_config.h"

#include "load/core/shape.h"
#include "platform/process/engine_settings.h"
#include "programs/sluice/simulation/loop.h"
#include "programs/sluice/simulation/traffic.h"
#include <optional>
#include <utility>

namespace sluice::commands {

namespace {

using simulation::NextArrival;

constexpr const char* kServiceTime = "100ms";
// No trace lasts longer; what ends the load is the traffic itself.
constexpr Duration kLongestLoad = std::chrono::hours{24 * 365 * 100};
// A service that does not come to rest in a day of quiet never does.
constexpr Duration kQuiet = std::chrono::hours{24};

Failure wrong_settings(const Problem& problem) {
  return {kExitConfig, problem.text()};
}

// What a service of `sluice up` is scaled by when its file says nothing.
Result<autoscaler::GivenScaling, Failure> given_of(std::int64_t concurrency) {
  const local::EngineSettings engine;
  auto config =
      autoscaler::parse_cluster_config({engine.autoscaler.begin(), engine.autoscaler.end()});
  if (!config) return wrong_settings(config.error());
  return autoscaler::GivenScaling{.config = std::move(*config),
                                  .container_concurrency = concurrency};
}

ModelRow row_of(const autoscaler::ScaleState& state, const simulation::Circumstances& around,
                TimePoint start) {
  return {.at = state.record.time - start,
          .ready = state.record.ready,
          .waiting = around.waiting,
          .stable = state.record.stable,
          .panic = state.record.panic,
          .want = state.want,
          .mode = std::string{name(state.record.mode)},
          .bound_by = std::string{name(state.record.bound_by)}};
}

}  // namespace

Result<Model, Failure> Model::make(const ModelAsked& asked) {
  const auto start = simulation::Times::parse(asked.start, "--start");
  if (!start) return Failure{kExitUsage, start.error().text()};
  const auto service = simulation::Times::parse(
      asked.service_time.empty() ? kServiceTime : asked.service_time, "--service-time");
  if (!service) return Failure{kExitUsage, service.error().text()};
  Model model{asked, *start, *service};
  if (asked.shape.empty()) return model;
  auto segments = loadgen::parse_shape(asked.shape);
  if (!segments) return Failure{kExitUsage, segments.error().text()};
  model.segments_ = std::move(*segments);
  return model;
}

Result<simulation::World, Failure> Model::world(const ScalingEdits& edits) const {
  const std::int64_t concurrency = edits.container_concurrency().value_or(asked_.concurrency);
  const auto given = given_of(concurrency);
  if (!given) return given.error();
  if (const auto problem = edits.problem_with(*given)) return wrong_settings(*problem);
  simulation::World world;
  world.seed = asked_.seed;
  world.scaling = edits.apply(
      autoscaler::resolve(given->config, given->annotations, concurrency, given->reachability),
      *given);
  world.container_concurrency = static_cast<std::int32_t>(concurrency);
  world.queue_depth = asked_.queue_depth;
  world.start = start_;
  world.service = service_;
  world.stat_delay = simulation::Times::fixed(Duration{0});
  world.length = kLongestLoad;
  world.quiet = kQuiet;
  world.rest = simulation::at_rest(world.scaling);
  return world;
}

Result<simulation::Outcome, Failure> Model::play(const ScalingEdits& edits,
                                                 const Watcher& watcher) {
  auto made = world(edits);
  if (!made) return made.error();
  std::optional<simulation::TraceTraffic> trace;
  if (asked_.shape.empty()) {
    auto opened = simulation::TraceTraffic::open(asked_.traffic, asked_.service, asked_.seed);
    if (!opened) return Failure{kExitConfig, opened.error().text()};
    trace.emplace(std::move(*opened));
    made->traffic = [&trace, as_recorded = asked_.service_time.empty()](Duration,
                                                                        std::mt19937_64&) {
      auto next = trace->next();
      if (next && !as_recorded) next->service.reset();
      return next;
    };
  } else {
    made->traffic = simulation::of_shape(segments_, asked_.seed);
  }
  TimePoint start{};
  if (watcher) {
    made->judge = [&](const autoscaler::ScaleState& state,
                      const simulation::Circumstances& around) {
      watcher(row_of(state, around, start));
      return std::string{};
    };
  }
  simulation::Loop loop{std::move(*made)};
  start = loop.start();
  auto outcome = loop.run();
  notes_.clear();
  if (trace && trace->problem()) return Failure{kExitConfig, trace->problem()->text()};
  if (trace && !trace->skipped().empty()) notes_.push_back("not used: " + trace->skipped());
  if (outcome.left > 0) {
    notes_.push_back(std::to_string(outcome.left) +
                     " requests still waited or ran when the simulation was given up");
  }
  if (!outcome.breach.empty()) return Failure{kExitFailure, "simulation: " + outcome.breach};
  return outcome;
}

}  // namespace sluice::commands
