#include "programs/sluice/commands/model_run.h"

#include "autoscaler/core/recording/recorded_input.h"
#include "common/scaling/annotations.h"
#include "common/scaling/cluster_config.h"

#include "load/core/azure_trace.h"
#include "load/core/recording_trace.h"
#include "load/core/shape.h"
#include "platform/process/engine_settings.h"
#include "programs/sluice/commands/recorded_happenings.h"
#include "programs/sluice/simulation/loop.h"
#include "programs/sluice/simulation/traffic.h"
#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::commands {

namespace {

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

std::string first_line(const std::string& path) {
  std::string line;
  auto lines = RecordingLines::open(path);
  if (lines) (void)lines->next(line);
  return line;
}

bool has_functions(const std::string& traffic) {
  const loadgen::TraceName name = loadgen::parse_trace_name(traffic);
  return name.format.value_or(loadgen::TraceFormat::azure2019) == loadgen::TraceFormat::azure2019 &&
         loadgen::AzureTrace::is_header(first_line(name.file));
}

// Whether both names are of copies of one recording, compressed or not.
bool same_recording(const std::string& traffic, const std::string& like) {
  const std::string first = first_line(loadgen::parse_trace_name(traffic).file);
  return loadgen::RecordingTrace::is_header(first) && first == first_line(like);
}

// Of a trace whose times are not to be used.
simulation::Traffic without_times(simulation::Traffic traffic) {
  return [traffic = std::move(traffic)](Duration since, std::mt19937_64& random) {
    auto next = traffic(since, random);
    if (next) next->service.reset();
    return next;
  };
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
  if (asked.shape.empty()) {
    model.of_functions_ = asked.service.empty() && has_functions(asked.traffic);
    model.again_ = !asked.like.empty() && asked.service.empty() && model.like_.traffic_from &&
                   same_recording(asked.traffic, asked.like);
    return model;
  }
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
  if (again_) repeat_recorded(world);
  return world;
}

// From where it began to where it ended, so that its figures can be compared.
void Model::repeat_recorded(simulation::World& world) const {
  world.revision = like_.revision;
  world.begin = *like_.traffic_from;
  world.until = std::max(like_.until - world.begin, Duration{0});
  if (like_.first.replicas > 0) world.from = like_.first;
  if (asked_.start.empty()) world.first_starts = like_.first_starts;
}

Result<simulation::Outcome, Failure> Model::play(const ScalingEdits& edits,
                                                 const Watcher& watcher) {
  if (of_functions_) return play_functions(edits, {});
  auto made = world(edits);
  if (!made) return made.error();
  std::optional<simulation::TraceTraffic> trace;
  if (asked_.shape.empty()) {
    auto opened = simulation::TraceTraffic::open(asked_.traffic, asked_.service, asked_.seed);
    if (!opened) return Failure{kExitConfig, opened.error().text()};
    trace.emplace(std::move(*opened));
    made->traffic = [&trace](Duration, std::mt19937_64&) { return trace->next(); };
    if (!asked_.service_time.empty()) made->traffic = without_times(std::move(made->traffic));
  } else {
    made->traffic = simulation::of_shape(segments_, asked_.seed);
  }
  std::optional<RecordedHappenings> happenings;
  if (again_) {
    auto opened = RecordedHappenings::open(asked_.like, like_, made->begin, edits);
    if (!opened) return opened.error();
    happenings.emplace(std::move(*opened));
    made->happenings = [&happenings] { return happenings->next(); };
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
  if (trace && trace->problem()) return Failure{kExitConfig, trace->problem()->text()};
  note_what_is_left(outcome, trace ? trace->skipped() : std::string{});
  if (!outcome.breach.empty()) return Failure{kExitFailure, "simulation: " + outcome.breach};
  return outcome;
}

Result<simulation::Outcome, Failure> Model::play_functions(const ScalingEdits& edits,
                                                           const FunctionWatcher& watcher) {
  const auto made = world(edits);
  if (!made) return made.error();
  auto functions = simulation::FunctionTraces::open(asked_.traffic);
  if (!functions) return Failure{kExitConfig, functions.error().text()};
  simulation::Outcome all;
  for (std::uint64_t seed = asked_.seed; auto function = functions->next(); ++seed) {
    simulation::World one = *made;
    one.seed = seed;
    one.traffic = simulation::of_function(*function, functions->length(), seed);
    if (!asked_.service_time.empty()) one.traffic = without_times(std::move(one.traffic));
    const simulation::Outcome outcome = simulation::Loop{std::move(one)}.run();
    if (!outcome.breach.empty()) return Failure{kExitFailure, "simulation: " + outcome.breach};
    simulation::add_to(all, outcome);
    if (watcher) watcher(function->name, outcome);
  }
  if (functions->problem()) return Failure{kExitConfig, functions->problem()->text()};
  note_what_is_left(all, functions->skipped());
  return all;
}

void Model::note_what_is_left(const simulation::Outcome& outcome, const std::string& skipped) {
  notes_.clear();
  if (!skipped.empty()) notes_.push_back("not used: " + skipped);
  if (outcome.left > 0 && !again_) {
    notes_.push_back(std::to_string(outcome.left) +
                     " requests still waited or ran when the simulation was given up");
  }
}

}  // namespace sluice::commands
