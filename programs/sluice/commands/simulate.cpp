#include "common/base/exit_status.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/service_spec.h"
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

using Next = RecordingLines::Next;

struct Asked {
  std::string recording;
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
  const auto service = recorded_service(asked.recording);
  if (!service) return service.error();
  const auto spec = spec_in(asked.spec, *service);
  if (!spec) return spec.error();
  edits->replace_service({spec->template_annotations.begin(), spec->template_annotations.end()},
                         spec->container_concurrency);
  return std::move(*edits);
}

std::string place_of(const Asked& asked, const RecordingLines& lines) {
  return asked.recording + ", line " + std::to_string(lines.number());
}

// Replays all there is. Notes tell of what there is not.
std::optional<Failure> replay(const Asked& asked, RecordingLines& lines, ReplayRun& run,
                              std::vector<std::string>& notes) {
  std::string line;
  while (true) {
    const Next next = lines.next(line);
    if (next == Next::end) break;
    if (next == Next::damaged) {
      return Failure{kExitConfig, asked.recording + " is damaged after line " +
                                      std::to_string(lines.number()) +
                                      ": it is no longer what gzip wrote"};
    }
    if (next == Next::too_long) {
      return Failure{kExitConfig,
                     place_of(asked, lines) + ": a recording has no line that is so long"};
    }
    const auto wrong = run.take(line);
    if (run.wrong_settings()) return Failure{kExitUsage, *run.wrong_settings()};
    if (wrong && next == Next::cut && run.begun()) {
      notes.push_back("the recording ends in the middle of line " + std::to_string(lines.number()) +
                      "; what is before it was replayed");
      break;
    }
    if (wrong) return Failure{kExitConfig, place_of(asked, lines) + ": " + *wrong};
    if (next == Next::cut) break;
  }
  if (!run.begun()) return Failure{kExitConfig, asked.recording + " is empty"};
  if (run.passed_over() > 0) {
    notes.push_back("lines of types that a newer sluice wrote, which were passed over: " +
                    std::to_string(run.passed_over()));
  }
  return std::nullopt;
}

}  // namespace

int run_simulate(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Replays a recording: whether this sluice decides what was decided, or what it would "
      "have decided with other settings.");
  Asked asked;
  app.add_option("RECORDING", asked.recording, "a file of sluice record, or - for standard input")
      ->required();
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
  if (!asked.spec.empty() && asked.recording == "-") {
    return report(with, {kExitUsage, "--spec needs the recording as a file"});
  }
  auto edits = edits_of(asked);
  if (!edits) return report(with, edits.error());
  auto lines = RecordingLines::open(asked.recording);
  if (!lines) return report(with, {kExitConfig, lines.error().text()});

  std::optional<ReplayReport> shown;
  ReplayRun run{*edits, [&](const TimelineRow& row) {
                  if (!shown) shown.emplace(with.out, format_of(asked.output), *edits);
                  shown->row(row);
                }};
  std::vector<std::string> notes;
  if (const auto failed = replay(asked, *lines, run, notes)) return report(with, *failed);
  if (!shown) shown.emplace(with.out, format_of(asked.output), *edits);
  shown->finish(run, notes);
  for (const std::string& note : notes) with.err << note << "\n";
  return run.differing() > 0 ? kExitGateFailed : kExitOk;
}

}  // namespace sluice::commands
