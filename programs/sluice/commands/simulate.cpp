#include "common/base/exit_status.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/engine_settings.h"
#include "platform/process/service_spec.h"
#include "programs/sluice/commands/model_report.h"
#include "programs/sluice/commands/model_run.h"
#include "programs/sluice/commands/model_sweep.h"
#include "programs/sluice/commands/recorded_service.h"
#include "programs/sluice/commands/recording_file.h"
#include "programs/sluice/commands/replay_report.h"
#include "programs/sluice/commands/replay_run.h"
#include "programs/sluice/commands/scaling_change.h"
#include "programs/sluice/commands/verbs.h"
#include <algorithm>
#include <filesystem>
#include <ostream>

namespace sluice::commands {
namespace {

struct Asked {
  std::string recording;
  ModelAsked model;
  std::vector<std::string> sweeps;
  std::string goal;
  std::vector<std::string> sets;
  std::string spec;
  std::string output = "text";
};

ReplayFormat format_of(const std::string& word) {
  if (word == "json") return ReplayFormat::json;
  return word == "csv" ? ReplayFormat::csv : ReplayFormat::text;
}

// Of a file of services the one that was recorded, or the only one.
Result<local::ServiceSpec, Failure> spec_in(const std::string& file, const std::string& service) {
  const auto yaml = local::read_spec_file(file, local::NamedPipes::read);
  if (!yaml) return Failure{kExitConfig, yaml.error().text()};
  auto parsed = local::parse_services(*yaml, local::shown_name(file),
                                      std::filesystem::current_path(), {.container_runtime = ""});
  if (!parsed) return Failure{kExitConfig, parsed.error().text()};
  auto& all = parsed->services;
  const auto named = std::find_if(
      all.begin(), all.end(), [&](const local::ServiceSpec& each) { return each.name == service; });
  if (named != all.end()) return std::move(*named);
  if (all.size() == 1) return std::move(all.front());
  return Failure{kExitConfig, file + " has no service " + service + "; give a file of one service"};
}

// The first line alone, for the name of the service.
Result<std::string, Failure> recorded_service(const std::string& path) {
  auto lines = RecordingLines::open(path);
  if (!lines) return Failure{kExitConfig, lines.error().text()};
  std::string line;
  (void)lines->next(line);
  ReplayRun run{{}, {}};
  if (const auto wrong = run.take(line)) return Failure{kExitConfig, path + ", line 1: " + *wrong};
  return run.head().of.service;
}

Result<ScalingEdits, Failure> edits_of(const Asked& asked) {
  auto edits = ScalingEdits::parse(asked.sets);
  if (!edits) return Failure{kExitUsage, edits.error().text()};
  if (asked.spec.empty()) return std::move(*edits);
  const auto service = asked.recording.empty() ? Result<std::string, Failure>{asked.model.service}
                                               : recorded_service(asked.recording);
  if (!service) return service.error();
  const auto spec = spec_in(asked.spec, *service);
  if (!spec) return spec.error();
  edits->replace_service({spec->template_annotations.begin(), spec->template_annotations.end()},
                         spec->container_concurrency);
  return std::move(*edits);
}

// Replays all there is. Notes tell of what there is not.
std::optional<Failure> replay(const Asked& asked, RecordingLines& lines, ReplayRun& run,
                              std::vector<std::string>& notes) {
  const auto failed = read_recording(
      asked.recording, lines, [&run](const std::string& line) { return run.take(line); }, notes);
  if (run.wrong_settings()) return Failure{kExitUsage, *run.wrong_settings()};
  if (!failed && run.passed_over() > 0) {
    notes.push_back("lines of types that a newer sluice wrote, which were passed over: " +
                    std::to_string(run.passed_over()));
  }
  return failed;
}

int simulate_recording(const Surroundings& with, const Asked& asked, const ScalingEdits& edits) {
  auto lines = RecordingLines::open(asked.recording);
  if (!lines) return report(with, {kExitConfig, lines.error().text()});
  std::optional<ReplayReport> shown;
  ReplayRun run{edits, [&](const TimelineRow& row) {
                  if (!shown) shown.emplace(with.out, format_of(asked.output), edits);
                  shown->row(row);
                }};
  std::vector<std::string> notes;
  if (const auto failed = replay(asked, *lines, run, notes)) return report(with, *failed);
  if (!shown) shown.emplace(with.out, format_of(asked.output), edits);
  shown->finish(run, notes);
  for (const std::string& note : notes) with.err << note << "\n";
  return run.differing() > 0 ? kExitGateFailed : kExitOk;
}

// A run for each combination of values.
Result<std::vector<SweepRow>, Failure> swept(const Asked& asked, const Sweep& sweep, Model& model,
                                             const Goal* goal) {
  std::vector<SweepRow> rows;
  for (std::vector<std::string>& values : sweep.runs()) {
    Asked one = asked;
    for (std::size_t i = 0; i < values.size(); ++i) {
      one.sets.push_back(sweep.keys()[i] + "=" + values[i]);
    }
    const auto edits = edits_of(one);
    if (!edits) return edits.error();
    const auto outcome = model.play(*edits, {});
    if (!outcome) return outcome.error();
    rows.push_back(sweep_row(std::move(values), *outcome));
    rows.back().meets_goal = goal == nullptr || goal->met(*outcome);
  }
  mark_unbeaten(rows);
  return rows;
}

int simulate_sweep(const Surroundings& with, const Asked& asked) {
  const auto sweep = Sweep::parse(asked.sweeps);
  if (!sweep) return report(with, {kExitUsage, sweep.error().text()});
  std::optional<Goal> goal;
  if (!asked.goal.empty()) {
    auto parsed = Goal::parse(asked.goal);
    if (!parsed) return report(with, {kExitUsage, parsed.error().text()});
    goal = std::move(*parsed);
  }
  const Goal* const wanted = goal ? &*goal : nullptr;
  auto model = Model::make(asked.model);
  if (!model) return report(with, model.error());
  const auto rows = swept(asked, *sweep, *model, wanted);
  if (!rows) return report(with, rows.error());
  print_sweep(with.out, format_of(asked.output), sweep->keys(), *rows, wanted);
  for (const std::string& note : model->notes()) with.err << note << "\n";
  return cheapest(*rows) ? kExitOk : kExitGateFailed;
}

int simulate_model(const Surroundings& with, const Asked& asked, const ScalingEdits& edits) {
  auto model = Model::make(asked.model);
  if (!model) return report(with, model.error());
  std::optional<ModelReport> shown;
  const auto outcome = model->play(edits, [&](const ModelRow& row) {
    if (!shown) shown.emplace(with.out, format_of(asked.output), edits.text());
    shown->row(row);
  });
  if (!outcome) return report(with, outcome.error());
  if (!shown) shown.emplace(with.out, format_of(asked.output), edits.text());
  shown->finish(*outcome, model->notes());
  for (const std::string& note : model->notes()) with.err << note << "\n";
  return kExitOk;
}

void add_model_flags(CLI::App& app, ModelAsked& model) {
  app.add_option("--shape", model.shape, "the requests of a service whose replicas are a model")
      ->type_name("SHAPE");
  app.add_option("--traffic", model.traffic, "the same, with the requests of a trace or recording")
      ->type_name("FILE[:FORMAT]");
  app.add_option("--service", model.service, "of a trace of several services, one")
      ->type_name("NAME");
  app.add_option("--service-time", model.service_time,
                 "how long a replica takes for a request: 100ms, exp:MEAN or "
                 "lognormal:MEDIAN,SIGMA; without it that of the trace or of --like, else 100ms")
      ->type_name("TIME");
  app.add_option("--start", model.start,
                 "how long a replica takes to start, likewise; else that of --like or 1s")
      ->type_name("TIME");
  app.add_option("--like", model.like,
                 "a recording of a service with these times, settings and concurrency")
      ->type_name("RECORDING");
  app.add_option("--concurrency", model.concurrency,
                 "requests at once on a replica; 0, the default: without a limit")
      ->check(CLI::Range(0, 1000));
  app.add_option("--queue-depth", model.queue_depth, "requests that may wait for a replica")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--seed", model.seed, "of arrivals and times: one seed, one result")
      ->capture_default_str();
}

// What of the flags does not go together; empty: all do.
std::string conflict_in(const CLI::App& app, const Asked& asked) {
  const int inputs = (asked.recording.empty() ? 0 : 1) + (asked.model.shape.empty() ? 0 : 1) +
                     (asked.model.traffic.empty() ? 0 : 1);
  if (inputs != 1) return "give one of RECORDING, --shape and --traffic";
  for (const char* const flag : {"--service", "--service-time", "--start", "--like",
                                 "--concurrency", "--queue-depth", "--seed", "--sweep", "--goal"}) {
    if (!asked.recording.empty() && app.count(flag) > 0) {
      return std::string{flag} + " needs --shape or --traffic: a recording has its own";
    }
  }
  if (!asked.goal.empty() && asked.sweeps.empty()) return "--goal needs --sweep";
  if (!asked.spec.empty() && asked.recording == "-") return "--spec needs the recording as a file";
  if (!asked.spec.empty() && app.count("--concurrency") > 0) {
    return "--concurrency is containerConcurrency in the file of --spec";
  }
  return {};
}

}  // namespace

int run_simulate(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Replays a recording: whether this sluice decides what was decided, or what it would "
      "have decided with other settings. Or simulates a service under a load in virtual time.");
  Asked asked;
  asked.model.queue_depth = static_cast<std::int32_t>(local::EngineSettings{}.queue.depth);
  app.add_option("RECORDING", asked.recording, "a file of sluice record, or - for standard input");
  add_model_flags(app, asked.model);
  app.add_option("--sweep", asked.sweeps, "a run with each of these values; several are combined")
      ->type_name("KEY=VALUE,VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--goal", asked.goal,
                 "of a sweep the cheapest run that has this, like 'wait.p99 < 200ms'")
      ->type_name("EXPRESSION");
  app.add_option("--set", asked.sets,
                 "another setting: a key of autoscaling.knative.dev/ by its short name, or of "
                 "config-autoscaler")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--spec", asked.spec, "the settings of this service in place of those recorded")
      ->type_name("FILE");
  app.add_option("-o,--output", asked.output, "text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}));
  if (const auto code = ends_early(with, app, "simulate", args)) return *code;
  const std::string conflict = conflict_in(app, asked);
  if (!conflict.empty()) return report(with, {kExitUsage, conflict});
  if (!asked.sweeps.empty()) return simulate_sweep(with, asked);
  auto edits = edits_of(asked);
  if (!edits) return report(with, edits.error());
  return asked.recording.empty() ? simulate_model(with, asked, *edits)
                                 : simulate_recording(with, asked, *edits);
}

}  // namespace sluice::commands
