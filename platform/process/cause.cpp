#include "platform/process/cause.h"

#include "common/base/clean_text.h"
#include "common/values/whole_number.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platform/process/quantity.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

namespace sluice::local {
namespace {

constexpr std::size_t kOutputMax = 200;
constexpr std::size_t kPortsShown = 4;
// A twentieth of a processor is work; a server that waits for requests uses less.
constexpr int kWorkShare = 20;
constexpr double kGibibyte = 1U << 30U;

std::string seconds_text(Duration duration) {
  return fmt::format("{} s", std::chrono::floor<std::chrono::seconds>(duration).count());
}

// `$PORT (20002)`, or the number that the spec gives.
std::string port_text(const StartSight& seen) {
  return seen.fixed_port ? fmt::format("{}", seen.port) : fmt::format("$PORT ({})", seen.port);
}

std::string ports_text(const std::vector<std::uint16_t>& ports) {
  const std::size_t shown = std::min(ports.size(), kPortsShown);
  return fmt::format("{}{}", fmt::join(ports.begin(), ports.begin() + std::ptrdiff_t(shown), ", "),
                     shown < ports.size() ? " and more" : "");
}

std::string_view probe_text(const StartSight& seen) {
  return seen.in_startup ? "startup" : "readiness";
}

bool probe_runs_command(const StartSight& seen) {
  return seen.in_startup ? seen.startup_is_command : seen.readiness_is_command;
}

std::string probe_fix(const StartSight& seen) {
  return probe_runs_command(seen) ? "check the command of the probe"
                                  : "check the path and the port of the probe";
}

// A command may say what is not for clients; an answer of the program is what they would get.
Cause cause_of_probe(const StartSight& seen, std::string what, const std::string& last_failure) {
  Cause cause{.kind = seen.in_startup ? CauseKind::startup_probe : CauseKind::probe,
              .what = std::move(what)};
  if (probe_runs_command(seen)) {
    cause.output = last_failure;
  } else if (!last_failure.empty()) {
    cause.what += ": " + last_failure;
  }
  return cause;
}

// What does not change with time; absent: nothing is wrong with where it listens.
std::optional<Cause> wrong_place(const StartSight& seen) {
  if (seen.listens.empty() || seen.reachable) return std::nullopt;
  if (std::find(seen.listens.begin(), seen.listens.end(), seen.port) != seen.listens.end()) {
    if (seen.in_container) {
      return Cause{
          .kind = CauseKind::other_address,
          .what = fmt::format("it listens on {} of its container's loopback address, which "
                              "cannot be reached from outside",
                              seen.port),
          .fix = "let it listen on 0.0.0.0"};
    }
    return Cause{.kind = CauseKind::other_address,
                 .what = fmt::format("it listens on {}, and not on 127.0.0.1", seen.port),
                 .fix = "let it listen on 127.0.0.1 or 0.0.0.0"};
  }
  if (seen.container_port != 0 && std::find(seen.listens.begin(), seen.listens.end(),
                                            seen.container_port) != seen.listens.end()) {
    return Cause{.kind = CauseKind::container_port,
                 .what = fmt::format("it listens on its containerPort {}, not on {}",
                                     seen.container_port, port_text(seen)),
                 .fix = "it is started again and served there"};
  }
  return Cause{
      .kind = CauseKind::other_port,
      .what = fmt::format("it listens on {}, not on {}", ports_text(seen.listens), port_text(seen)),
      .fix = seen.in_container
                 ? fmt::format("use containerPort {0} (--port {0})", seen.listens.front())
                 : fmt::format("use --port {} (in YAML: sluice.dev/port)", seen.listens.front())};
}

std::string signal_text(int signal) {
  const char* const text = ::strsignal(signal);
  return fmt::format("signal {} ({})", signal, text == nullptr ? "unknown" : text);
}

Cause cause_of_signal(const EndSight& seen) {
  Cause cause{.kind = CauseKind::signalled,
              .what = "killed by " + signal_text(*seen.signal),
              .output = seen.last_error};
  if (*seen.signal == SIGKILL && seen.memory_limit > 0 && !seen.limit_is_enforced) {
    cause.fix = fmt::format("its memory limit of {} is only accounted here, and ended nothing",
                            format_size(seen.memory_limit));
  } else if (*seen.signal == SIGKILL && seen.memory_limit > 0 && !seen.image.empty()) {
    // Not every runtime sees what the kernel did in the control group that it has removed by now.
    cause.kind = CauseKind::out_of_memory;
    cause.what +=
        fmt::format(", most likely out of memory (limit {})", format_size(seen.memory_limit));
  }
  return cause;
}

std::string joined(const std::string& what, const std::string& output, const std::string& fix) {
  return what + (output.empty() ? "" : ": " + output) + (fix.empty() ? "" : "; " + fix);
}

}  // namespace

std::string_view name(CauseKind kind) {
  switch (kind) {
    case CauseKind::starting:
      return "starting";
    case CauseKind::probe:
      return "probe";
    case CauseKind::other_port:
      return "other_port";
    case CauseKind::container_port:
      return "container_port";
    case CauseKind::other_address:
      return "other_address";
    case CauseKind::background:
      return "background";
    case CauseKind::exited:
      return "exited";
    case CauseKind::signalled:
      return "signalled";
    case CauseKind::out_of_memory:
      return "out_of_memory";
    case CauseKind::cannot_start:
      return "cannot_start";
    case CauseKind::port_taken:
      return "port_taken";
    case CauseKind::sidecar:
      return "sidecar";
    case CauseKind::init:
      return "init";
    case CauseKind::startup_probe:
      return "startup_probe";
    case CauseKind::liveness_probe:
      return "liveness_probe";
    case CauseKind::no_room:
      return "no_room";
    case CauseKind::too_large:
      return "too_large";
  }
  return "starting";
}

bool is_wrong_place(CauseKind kind) {
  return kind == CauseKind::other_port || kind == CauseKind::other_address;
}

std::string Cause::sentence() const {
  return joined(what, output, fix);
}

std::string Cause::for_clients() const {
  // What cannot be started is named by its path, or as an image.
  return kind == CauseKind::cannot_start ? "its program could not be run" : joined(what, {}, fix);
}

void Settling::note(CauseKind kind, Duration used, TimePoint now) {
  const Duration worked = used - std::exchange(used_, used);
  const Duration passed = now - std::exchange(last_, now);
  const bool idle = is_wrong_place(kind) && worked * kWorkShare < passed;
  if (!idle) {
    idle_since_.reset();
    settled_ = false;
    return;
  }
  idle_since_ = idle_since_.value_or(now);
  settled_ = now - *idle_since_ >= kSettledAfter;
}

Cause cause_of_wait(const StartSight& seen, Duration lasting, const std::string& last_failure) {
  if (auto wrong = wrong_place(seen)) return *wrong;
  if (seen.reachable) {
    return cause_of_probe(seen,
                          fmt::format("it listens on {}, and its {} probe does not pass yet ({})",
                                      seen.port, probe_text(seen), seconds_text(lasting)),
                          last_failure);
  }
  if (!seen.begun) {
    return {.kind = CauseKind::starting,
            .what = fmt::format("its image is being fetched, or its container created ({})",
                                seconds_text(lasting))};
  }
  return {.kind = CauseKind::starting,
          .what = fmt::format("still starting, nothing listens on {} yet ({})", seen.port,
                              seconds_text(lasting))};
}

Cause cause_of_timeout(const StartSight& seen, Duration limit, const std::string& last_failure) {
  if (auto wrong = wrong_place(seen)) return *wrong;
  const std::string within = format_duration(limit);
  if (seen.reachable) {
    Cause cause =
        cause_of_probe(seen,
                       fmt::format("it listens on {}, and its {} probe did not pass within {}",
                                   seen.port, probe_text(seen), within),
                       last_failure);
    cause.fix = probe_fix(seen);
    return cause;
  }
  if (!seen.begun) {
    return {.kind = CauseKind::starting,
            .what = fmt::format("its container was not created within {}", within),
            .fix = "fetch its image beforehand (podman pull)"};
  }
  return {.kind = CauseKind::starting,
          .what = fmt::format("nothing listened on {} within {}", seen.port, within),
          .fix = "raise sluice.dev/start-timeout if it needs longer"};
}

Cause cause_of_end(const EndSight& seen) {
  if (!seen.not_run_by.empty()) {
    return {.kind = CauseKind::cannot_start,
            .what = fmt::format("{} could not run {}", seen.not_run_by, seen.image),
            .output = seen.last_error};
  }
  const bool killed = seen.oom_kills > 0 && seen.exit_code.value_or(1) != 0;
  if (killed && seen.memory_limit == 0 && !seen.group.empty()) {
    return {.kind = CauseKind::out_of_memory,
            .what = "killed: out of memory in group " + seen.group};
  }
  if (killed && seen.memory_limit > 0) {
    return {.kind = CauseKind::out_of_memory,
            .what = fmt::format("killed: out of memory (limit {})", format_size(seen.memory_limit)),
            .fix = {}};
  }
  if (seen.signal) return cause_of_signal(seen);
  const int code = seen.exit_code.value_or(0);
  if (code == 0 && !seen.survivor.empty()) {
    return {.kind = CauseKind::background,
            .what = fmt::format("it put itself into the background: the started process ended with "
                                "exit code 0 while {} ran on",
                                seen.survivor),
            .fix = "start it in the foreground"};
  }
  return {.kind = CauseKind::exited,
          .what = fmt::format("it ended with exit code {}", code),
          .output = seen.last_error,
          .fix = seen.port_is_lost
                     ? "a word of its command is empty: write '$PORT' in single quotes, so that no "
                       "shell expands it"
                     : ""};
}

Cause cause_of_restarts(std::int64_t ended, Duration ago, const Cause& last) {
  Cause cause = last;
  cause.what =
      fmt::format("{} of its replicas ended by {} {} ago: {}", ended,
                  ended == 1 ? "itself" : "themselves, the last", seconds_text(ago), last.what);
  return cause;
}

Cause cause_of_no_room(const RoomSight& seen) {
  const bool fits = seen.capacity == 0 || seen.claim <= seen.capacity;
  if (fits) return {.kind = CauseKind::no_room, .what = seen.shortage};
  return {
      .kind = CauseKind::too_large,
      .what = fmt::format("it needs {} of memory, and this machine has {:.1f}Gi",
                          format_size(seen.claim), static_cast<double>(seen.capacity) / kGibibyte),
      .fix = "lower its memory limit"};
}

Cause cause_of_init(const std::string& name, std::optional<Duration> limit) {
  if (!limit) return {.kind = CauseKind::init, .what = fmt::format("init container {} runs", name)};
  return {
      .kind = CauseKind::init,
      .what = fmt::format("init container {} did not end within {}", name, format_duration(*limit)),
      .fix = "raise sluice.dev/start-timeout if it needs longer"};
}

Cause cause_of_init_end(const std::string& name, const EndSight& seen) {
  Cause cause = cause_of_end(seen);
  const std::string which = "init container " + name;
  if (!seen.not_run_by.empty()) {
    cause.what = which + ": " + cause.what;
    return cause;
  }
  if (seen.exit_code && cause.kind != CauseKind::out_of_memory) {
    return {.kind = CauseKind::init,
            .what = fmt::format("{} ended with exit code {}", which, *seen.exit_code),
            .output = seen.last_error};
  }
  cause.kind = cause.kind == CauseKind::signalled ? CauseKind::init : cause.kind;
  cause.what = which + " was " + cause.what;
  return cause;
}

bool lost_port(const std::vector<std::string>& words) {
  const auto names_port = [](const std::string& word) {
    return word.find("PORT") != std::string::npos;
  };
  if (std::any_of(words.begin(), words.end(), names_port)) return false;
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.empty() || word.back() == '=' || word.back() == ':';
  });
}

std::string last_words(const std::vector<std::string>& lines) {
  constexpr std::string_view kBlank = " \t\r\n";
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const auto begin = line->find_first_not_of(kBlank);
    if (begin == std::string::npos) continue;
    const auto end = line->find_last_not_of(kBlank);
    std::string text = clean_text(std::string_view(*line).substr(begin, end + 1 - begin));
    if (text.size() <= kOutputMax) return text;
    // Not in the middle of a character.
    std::size_t cut = kOutputMax;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
    return text.substr(0, cut) + "…";
  }
  return {};
}

std::optional<std::int64_t> oom_kills_in(std::string_view text) {
  constexpr std::string_view kKey = "oom_kill ";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(kKey)) return whole_number<std::int64_t>(line.substr(kKey.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace sluice::local
