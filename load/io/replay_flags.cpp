#include "load/io/replay_flags.h"

#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"

namespace sluice::loadgen {

bool ReplayFlags::given() const {
  return !trace.empty() || speed || times || !from.empty() || !until.empty() || unsafe;
}

void declare(CLI::App& app, ReplayFlags& flags) {
  app.add_option(
         "--replay", flags.trace,
         "open loop with the times of a recorded trace: csv, an access log, HAR, a recording, "
         "see sluice trace;\n"
         "sends GET, HEAD and OPTIONS, and what has no method as -m and -b tell")
      ->type_name("FILE[:FORMAT]")
      ->check(check_not_empty);
  app.add_option("--speed", flags.speed, "replay: times as fast (default 1)")
      ->check(check_not_empty);
  app.add_option("--times", flags.times, "replay: send each request so many times (default 1)")
      ->check(check_unsigned);
  app.add_option("--from", flags.from, "replay: leave out what is before, from the trace's start")
      ->type_name("TIME")
      ->check(check_not_empty);
  app.add_option("--until", flags.until, "replay: leave out what is from there on")
      ->type_name("TIME")
      ->check(check_not_empty);
  app.add_flag("--unsafe", flags.unsafe,
               "replay: send DELETE, POST, PUT and PATCH too, with -b as their body");
}

std::optional<Problem> read_replay(const ReplayFlags& flags, Phase& phase) {
  if (flags.trace.empty()) {
    return Problem{"--speed, --times, --from, --until and --unsafe are for --replay",
                   "give --replay FILE with them"};
  }
  const double speed = flags.speed.value_or(1);
  if (!(speed >= kReplaySpeedMin && speed <= kReplaySpeedMax)) {
    return Problem{"--speed is not 0.001 to 1000", "give for example --speed 2"};
  }
  const std::uint64_t times = flags.times.value_or(1);
  if (times < 1 || times > kReplayTimesMax) {
    return Problem{"--times is not 1 to 1000", "give for example --times 3"};
  }
  ReplayPart part{.methods = flags.unsafe ? Methods::all : Methods::safe};
  if (auto problem = set_duration(part.from, flags.from, "--from")) return problem;
  if (auto problem = set_duration(part.until, flags.until, "--until")) return problem;
  if (part.until <= part.from) {
    return Problem{"--until is not after --from", "give for example --from 10m --until 20m"};
  }
  phase.replay =
      Replay{.trace = parse_trace_name(flags.trace), .speed = speed, .times = times, .part = part};
  phase.segments.clear();
  return std::nullopt;
}

}  // namespace sluice::loadgen
