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
constexpr const char* kStart = "1s";
// No trace lasts longer; what ends the load is the traffic itself.
constexpr Duration kLongestLoad = std::chrono::hours{24 * 365 * 100};
// A service that does not come to rest in a day of quiet never does.
constexpr Duration kQuiet = std::chrono::hours{24};

// A service of `sluice up` whose file says nothing.
Result<RecordedService, Failure> plain_service() {
  const local::EngineSettings engine;
  auto config =
      autoscaler::parse_cluster_config({engine.autoscaler.begin(), engine.autoscaler.end()});
  if (!config) return Failure{kExitConfig, config.error().text()};
  RecordedService made{.given = {.config = std::move(*config)}};
  made.scaling = autoscaler::resolve(made.given.config, made.given.annotations,
                                     made.given.container_concurrency, made.given.reachability);
  return made;
}

// The rule that was typed, else the one that was recorded, else `fallback`.
Result<simulation::Times, Failure> times_of(const std::string& typed, const char* flag,
                                            const std::optional<simulation::Times>& recorded,
                                            const char* fallback) {
  if (typed.empty() && recorded) return *recorded;
  const auto times = simulation::Times::parse(typed.empty() ? fallback : typed, flag);
  if (!times) return Failure{kExitUsage, times.error().text()};
  return *times;
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
  auto like = asked.like.empty() ? plain_service() : read_recorded_service(asked.like);
  if (!like) return like.error();
  const auto start = times_of(asked.start, "--start", like->start, kStart);
  if (!start) return start.error();
  const auto service_time =
      times_of(asked.service_time, "--service-time", like->service_time, kServiceTime);
  if (!service_time) return service_time.error();
  Model model{asked, std::move(*like), *start, *service_time};
  if (asked.shape.empty()) return model;
  auto segments = loadgen::parse_shape(asked.shape);
  if (!segments) return Failure{kExitUsage, segments.error().text()};
  model.segments_ = std::move(*segments);
  return model;
}

Result<simulation::World, Failure> Model::world(const ScalingEdits& edits) const {
  autoscaler::GivenScaling given = like_.given;
  if (asked_.concurrency) given.container_concurrency = *asked_.concurrency;
  if (const auto problem = edits.problem_with(given)) return Failure{kExitUsage, problem->text()};
  simulation::World world;
  world.seed = asked_.seed;
  world.scaling = edits.apply(like_.scaling, given);
  world.container_concurrency = static_cast<std::int32_t>(
      edits.container_concurrency().value_or(given.container_concurrency));
  world.queue_depth = asked_.queue_depth;
  world.start = start_;
  world.service = service_time_;
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
