#include "common/base/clean_text.h"
#include "common/base/exit_status.h"
#include "common/files/file_io.h"
#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "platform/process/engine_settings.h"
#include "platform/process/service_spec.h"
#include "programs/sluice/commands/html_report.h"
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
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

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
  std::string html;  // a file; empty: none
};

using Columns = std::vector<std::string>;

// The page, if one was asked for.
std::optional<HtmlReport> html_for(const Asked& asked, const std::string& what, Columns columns,
                                   bool dated) {
  if (asked.html.empty()) return std::nullopt;
  std::string title = "Simulated " + clean_text(what);
  if (!asked.sets.empty()) title += fmt::format(" with {}", fmt::join(asked.sets, " "));
  return std::optional<HtmlReport>{std::in_place, clean_text(title), std::move(columns), dated};
}

std::optional<Failure> write_html(const Asked& asked, const std::optional<HtmlReport>& html) {
  if (!html) return std::nullopt;
  const auto problem = files::write_output(asked.html, html->page());
  return problem ? std::optional{Failure{kExitFailure, problem->text()}} : std::nullopt;
}

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

// `flag`: where the settings are from, for complaints.
Result<ScalingEdits, Failure> edits_of(const Asked& asked, const std::string& flag = "--set") {
  auto edits = ScalingEdits::parse(asked.sets, flag);
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
  auto failed = read_recording(
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
  auto html =
      html_for(asked, asked.recording, {"ready", "recorded", "want", "stable", "panic"}, true);
  std::optional<ReplayReport> page;
  if (html) page.emplace(html->text(), ReplayFormat::text, edits);
  std::optional<ReplayReport> shown;
  ReplayRun run{edits, [&](const TimelineRow& row) {
                  if (!shown) shown.emplace(with.out, format_of(asked.output), edits);
                  shown->row(row);
                  if (!html) return;
                  page->row(row);
                  html->row(to_seconds(row.at.time_since_epoch()), row.decided.mode == "panic",
                            {static_cast<double>(row.ready), static_cast<double>(row.recorded.want),
                             static_cast<double>(row.decided.want), row.stable, row.panic});
                }};
  std::vector<std::string> notes;
  if (const auto failed = replay(asked, *lines, run, notes)) return report(with, *failed);
  if (!shown) shown.emplace(with.out, format_of(asked.output), edits);
  shown->finish(run, notes);
  if (page) page->finish(run, notes);
  if (const auto failed = write_html(asked, html)) return report(with, *failed);
  for (const std::string& note : notes) with.err << note << "\n";
  return run.differing() > 0 ? kExitGateFailed : kExitOk;
}

// A run for each combination of values.
Result<std::vector<SweepRow>, Failure> swept(const Asked& asked, const Sweep& sweep, Model& model,
                                             const Goal* goal) {
  const std::string flag = asked.sets.empty() ? "--sweep" : "--set, --sweep";
  std::vector<SweepRow> rows;
  for (std::vector<std::string>& values : sweep.runs()) {
    Asked one = asked;
    for (std::size_t i = 0; i < values.size(); ++i) {
      one.sets.push_back(sweep.keys()[i] + "=" + values[i]);
    }
    const auto edits = edits_of(one, flag);
    if (!edits) return edits.error();
    const auto outcome = model.play(*edits, {});
    if (!outcome) return outcome.error();
    rows.push_back(sweep_row(std::move(values), *outcome));
    rows.back().meets_goal = goal == nullptr || goal->met(*outcome);
  }
  mark_unbeaten(rows);
  return rows;
}

std::string load_of(const Asked& asked) {
  return asked.model.shape.empty() ? asked.model.traffic : asked.model.shape;
}

int simulate_sweep(const Surroundings& with, const Asked& asked) {
  const auto sweep = Sweep::parse(asked.sweeps);
  if (!sweep) return report(with, {kExitUsage, sweep.error().text()});
  if (const auto wrong = sweep->conflict_with(asked.sets))
    return report(with, {kExitUsage, wrong->text()});
  if (const auto edits = edits_of(asked); !edits) return report(with, edits.error());
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
  auto html = html_for(asked, load_of(asked), {}, false);
  if (html) print_sweep(html->text(), ReplayFormat::text, sweep->keys(), *rows, wanted);
  if (const auto failed = write_html(asked, html)) return report(with, *failed);
  for (const std::string& note : model->notes()) with.err << note << "\n";
  return cheapest(*rows) ? kExitOk : kExitGateFailed;
}

int simulate_model(const Surroundings& with, const Asked& asked, const ScalingEdits& edits) {
  auto model = Model::make(asked.model);
  if (!model) return report(with, model.error());
  const bool of_functions = model->of_functions();
  const auto rows = of_functions ? ModelReport::Rows::functions : ModelReport::Rows::decisions;
  std::optional<ModelReport> shown;
  // Begun by the first row, or at the end: of what cannot be played nothing is printed.
  const auto begin = [&] {
    if (!shown) shown.emplace(with.out, format_of(asked.output), edits.text(), rows);
  };
  auto html =
      html_for(asked, load_of(asked), {"ready", "want", "waiting", "stable", "panic"}, false);
  std::optional<ModelReport> page;
  if (html) page.emplace(html->text(), ReplayFormat::text, edits.text(), rows);
  const auto take = [&](const auto& row) {
    begin();
    shown->row(row);
    if (page) page->row(row);
  };
  const auto outcome =
      of_functions ? model->play_functions(edits,
                                           [&](const std::string& function, const auto& one) {
                                             take(function_row(function, one));
                                           })
                   : model->play(edits, [&](const ModelRow& row) {
                       take(row);
                       if (html) {
                         html->row(to_seconds(row.at), row.mode == "panic",
                                   {static_cast<double>(row.ready), static_cast<double>(row.want),
                                    static_cast<double>(row.waiting), row.stable, row.panic});
                       }
                     });
  if (!outcome) return report(with, outcome.error());
  begin();
  shown->finish(*outcome, model->recorded(), model->notes());
  if (page) page->finish(*outcome, model->recorded(), model->notes());
  if (const auto failed = write_html(asked, html)) return report(with, *failed);
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
      ->check(check_unsigned)
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
  if (asked.html == "-") return "--html writes a file: give its name";
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
      ->type_name("EXPRESSION")
      ->check(check_not_empty);
  app.add_option("--set", asked.sets,
                 "another setting: a key of autoscaling.knative.dev/ by its short name, or of "
                 "config-autoscaler")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--spec", asked.spec, "the settings of this service in place of those recorded")
      ->type_name("FILE")
      ->check(check_not_empty);
  app.add_option("--html", asked.html,
                 "also write a page of one file, with charts, that opens from disk")
      ->type_name("FILE")
      ->check(check_not_empty);
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
