#include "common/values/rfc3339.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/kept_log.h"
#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/engine/log_lines.h"
#include "programs/sluice/view/log_text.h"
#include <ostream>

namespace sluice::commands {
namespace {

constexpr int kTailMax = 10'000;

struct LogFlags {
  std::string name;
  std::string replica;
  std::string since;
  int tail = 100;
  bool follow = false;
  bool previous = false;
};

int print(const Surroundings& with, const FoundService& found, const LogFlags& flags,
          std::optional<TimePoint> since) {
  std::string target = found.path() + "/logs?times=1&tail=" + std::to_string(flags.tail);
  target += flags.replica.empty() ? "" : "&replica=" + url_encoded(flags.replica);
  target += flags.previous ? "&previous=1" : "";
  if (since) target += "&since=" + url_encoded(rfc3339(*since, Fraction::milliseconds));
  view::LogText text;
  if (!flags.follow) {
    const auto body = fetch(found.engine, {.target = target});
    if (!body) return report(with, body.error());
    with.out << text.lines(*body, with.clock.now());
    if (body->empty()) with.err << "no such output of " << found.title() << " is kept\n";
    return kExitOk;
  }
  const auto problem =
      ApiClient(found.engine).follow(target + "&follow=1", [&](std::string_view piece) {
        with.out << text.lines(piece, with.clock.now()) << std::flush;
        return with.out.good();
      });
  return problem ? report(with, {kExitUnavailable, problem->text()}) : kExitOk;
}

// Without an engine every replica is a previous one, and nothing follows.
int print_kept(const Surroundings& with, const KeptLog& kept, const LogFlags& flags,
               std::optional<TimePoint> since) {
  local::TailQuery query;
  query.lines = static_cast<std::size_t>(flags.tail);
  query.replica = flags.replica;
  query.since = since;
  with.err << flags.name << " is not running; this is what engine " << kept.engine << " kept\n";
  view::LogText text;
  with.out << text.lines(local::log_text(local::tail_log(kept.file, query), true),
                         with.clock.now());
  return kExitOk;
}

}  // namespace

int run_logs(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Prints the output of replicas, including those that ended, of a deleted service or of an "
      "engine that no longer runs: time, replica#start, text.");
  LogFlags flags;
  app.add_option("SERVICE", flags.name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_flag("-f,--follow", flags.follow, "keep printing new lines");
  app.add_option("--tail", flags.tail, "number of old lines (100; 10000 with --since)")
      ->check(CLI::Range(0, kTailMax));
  app.add_option("--since", flags.since, "only lines since an age such as 10m, or a time")
      ->type_name("AGE");
  app.add_option("--replica", flags.replica, "only this replica")->type_name("ID");
  app.add_flag("--previous", flags.previous, "only replicas that ended");
  if (const auto code = ends_early(with, app, "logs", args)) {
    return *code;
  }
  std::optional<TimePoint> since;
  if (!flags.since.empty()) {
    const auto moment = moment_of(with, "--since", flags.since);
    if (!moment) return report(with, moment.error());
    since = *moment;
    if (app.count("--tail") == 0) flags.tail = kTailMax;
  }
  const auto found = find_service(with, flags.name, Finds::kept);
  if (found) return print(with, *found, flags, since);
  if (with.server || found.error().exit_code == kExitUsage) return report(with, found.error());
  const auto kept = find_kept_log(with, flags.name);
  if (kept) return print_kept(with, *kept, flags, since);
  return report(with, kept.error().exit_code == kExitUsage ? kept.error() : found.error());
}

}  // namespace sluice::commands
