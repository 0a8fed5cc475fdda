#include "load/core/quantity.h"
#include "load/core/report.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kHeadingWidth = 62;
constexpr std::size_t kLabelWidth = 28;

// A run with more errors than this says so in its first line.
constexpr double kErrorRateNamed = 0.01;

constexpr std::size_t kBarRowsMax = 12;
constexpr double kBarWidth = 40;

std::string percent(double share) {
  return plain(std::round(share * 1e4) / 100) + " %";
}

std::string line(const std::string& label, const std::string& text) {
  std::string out = "  " + label;
  out.append(label.size() < kLabelWidth ? kLabelWidth - label.size() : 1, ' ');
  return out + text + "\n";
}

// Columns are counted in characters, not in the bytes of UTF-8.
std::size_t columns(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return count;
}

std::string generator_state(const Report& report) {
  if (report.plan.loop == Loop::closed) return {};
  const std::string lag =
      "lag p99 " + milliseconds(report.results.whole.lag().percentile(99)) + " ms";
  if (report.results.whole.ended(Ending::answered) == 0) return {};
  if (!is_late(report)) {
    return std::string{", generator "} + (is_behind(report) ? "kept the rate" : "on time") + " (" +
           lag + ")";
  }
  return ", generator LATE: " + lag + ", max " + milliseconds(report.results.whole.lag().max()) +
         " ms";
}

std::string heading(const Report& report) {
  std::string text = describe(report.plan);
  const std::size_t width = columns(text);
  text.append(width < kHeadingWidth ? kHeadingWidth - width : 2, ' ');
  text += grouped(report.results.whole.sent()) + " sent, ";
  text += grouped(report.results.whole.ended(Ending::answered)) + " answered";
  const double errors = report.results.whole.error_rate();
  if (errors > kErrorRateNamed) text += ", ERRORS " + percent(errors);
  return text + generator_state(report) + "\n";
}

std::string percentiles(const Histogram& times) {
  if (times.count() == 0) return "none";
  constexpr std::array<std::pair<const char*, double>, 4> kShown{
      {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}}};
  std::string text;
  for (const auto& [name, percent] : kShown) {
    text += std::string{name} + " " + milliseconds(times.percentile(percent)) + "  ";
  }
  return text + "max " + milliseconds(times.max()) + " ms";
}

std::string rate_line(const Report& report) {
  const auto rate = [](double per_second) {
    return plain(std::round(per_second * 10) / 10) + "/s";
  };
  return line("rate",
              rate(achieved_rate(report)) + " sent, " + rate(answered_rate(report)) + " answered");
}

// The edges 1, 2 and 5 of each power of ten from the smallest value to the largest, in microseconds
// at least.
std::vector<Duration> edges_of(const Histogram& times) {
  std::vector<Duration> edges;
  std::int64_t decade = 1000;
  while (Duration{decade * 10} <= times.min()) decade *= 10;
  for (;; decade *= 10) {
    for (const std::int64_t step : {1, 2, 5}) {
      const Duration edge{decade * step};
      if (edge >= times.min()) edges.push_back(edge);
      if (edge >= times.max()) return edges;
    }
  }
}

// A row for each edge: how many took up to that and longer than the row above. The tail matters
// most, so of too many rows the lowest become one.
std::string histogram_lines(const Histogram& times) {
  if (times.count() == 0) return {};
  std::vector<Duration> edges = edges_of(times);
  if (edges.size() > kBarRowsMax) {
    edges.erase(edges.begin(), edges.end() - static_cast<std::ptrdiff_t>(kBarRowsMax));
  }
  std::vector<std::uint64_t> counts;
  std::uint64_t below = 0;
  for (const Duration edge : edges) {
    const std::uint64_t to_edge = times.count_to(edge);
    counts.push_back(to_edge - below);
    below = to_edge;
  }
  const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  std::string text;
  for (std::size_t row = 0; row < edges.size(); ++row) {
    const double share = static_cast<double>(counts[row]) / most;
    const double ms = to_seconds(edges[row]) * 1e3;
    const std::string edge = "<= " + (ms < 1000 ? plain(ms) + " ms" : plain(ms / 1e3) + " s");
    const std::string count = grouped(counts[row]);
    std::string columns = edge + std::string(edge.size() < 11 ? 11 - edge.size() : 1, ' ');
    columns += std::string(count.size() < 10 ? 10 - count.size() : 1, ' ') + count;
    if (counts[row] > 0) {
      columns += "  " + std::string(static_cast<std::size_t>(std::ceil(share * kBarWidth)), '#');
    }
    text += line(row == 0 ? "histogram" : "", columns);
  }
  return text;
}

std::string error_classes(const Tally& tally) {
  std::string text;
  const auto add = [&text](std::string_view name, std::uint64_t count) {
    if (count == 0) return;
    std::string words{name};
    std::replace(words.begin(), words.end(), '_', ' ');
    text.append(text.empty() ? "" : ", ").append(words).append(" ").append(grouped(count));
  };
  for (const Ending ending : kEndings) {
    if (ending != Ending::answered && !timed_out(ending)) add(name_of(ending), tally.ended(ending));
  }
  add("5xx", tally.server_errors());
  add("not_sent", tally.unsent());
  return text.empty() ? text : " (" + text + ")";
}

std::string status_line(const Report& report) {
  const Tally& tally = report.results.whole;
  std::string text;
  for (const auto& [status, count] : tally.statuses()) {
    text += (text.empty() ? "" : "  ") + std::to_string(status) + ": " + grouped(count);
  }
  if (text.empty()) text = "none";
  for (const auto& [status, count] : tally.grpc_statuses()) {
    text += "  grpc " + std::to_string(status) + ": " + grouped(count);
  }
  if (tally.refused() > 0) text += "    refused " + grouped(tally.refused());
  const std::uint64_t timeouts = tally.timeouts();
  text += "    errors " + grouped(tally.errors() - timeouts) + error_classes(tally);
  text += "    timeouts " + grouped(timeouts);
  if (tally.cut() > 0) text += "    cut " + grouped(tally.cut());
  return line("status", text);
}

std::string replicas(const ReplicaTrack& track) {
  if (track.points().empty()) return "replicas 0";
  std::string text = "replicas " + std::to_string(track.points().front().ready);
  std::size_t last = track.points().front().ready;
  for (const std::size_t next : {track.ready_max(), track.points().back().ready}) {
    if (next != last) text += " -> " + std::to_string(next);
    last = next;
  }
  return text;
}

std::string cold_starts(const ReplicaTrack& track) {
  const Histogram& times = track.cold_start_times();
  if (times.count() == 0) return ", no cold start";
  if (times.count() == 1) return ", 1 cold start (" + spoken(times.max()) + ")";
  return ", " + grouped(times.count()) + " cold starts (p50 " + spoken(times.percentile(50)) +
         ", max " + spoken(times.max()) + ")";
}

std::string scaling_line(const ReplicaTrack& track) {
  std::string text = replicas(track) + cold_starts(track);
  if (!track.panics().empty()) {
    Duration total{0};
    for (const ReplicaTrack::Panic& panic : track.panics()) total += panic.to - panic.from;
    text += ", panic " + grouped(track.panics().size()) + "x for " + spoken(total);
  }
  return line("scaling", text);
}

std::string replay_lines(const Replay& replay) {
  const bool exact = replay.resolution == Duration::zero();
  std::string text = line("trace", std::string{name_of(replay.format)} + ", times " +
                                       (exact ? "exact"
                                              : "of " + spoken(replay.resolution) +
                                                    ", spread within that by the seed"));
  if (replay.left_out > 0) {
    text += line(
        "left out",
        grouped(replay.left_out) + (replay.left_out == 1 ? " request" : " requests") +
            " of the trace with other methods than " +
            (replay.part.methods == Methods::all ? "GET, HEAD, OPTIONS, DELETE, POST, PUT and PATCH"
                                                 : "GET, HEAD and OPTIONS"));
  }
  if (!replay.skipped.empty()) text += line("skipped", replay.skipped);
  return text;
}

// What kept requests from being sent in time.
std::string too_slow(const Report& report) {
  switch (late_cause(report).value_or(report.cap_waits > 0 ? LateCause::no_connection
                                                           : LateCause::server)) {
    case LateCause::own_core:
      return "the generator used up its core (" + percent(report.generator.busiest()) +
             "): the latency is in part its own";
    case LateCause::no_connection:
      return "all " + grouped(report.connections) +
             " allowed connections were busy: the server is too slow";
    case LateCause::no_local_port:
      return "this machine had no local port for another connection";
    case LateCause::server:
      return "the server accepts connections or answers too slowly";
  }
  return {};
}

// When this machine did not run the generator.
std::string gap_lines(const Report& report) {
  std::uint64_t gaps = 0;
  Mark longest;
  std::string text;
  for (const Mark& mark : report.generator.marks()) {
    if (mark.kind == Mark::Kind::clock_step) {
      text += line("clock", "the machine's clock was set by " + milliseconds(mark.length) +
                                " ms at " + spoken(mark.at));
      continue;
    }
    ++gaps;
    if (mark.length > longest.length) longest = mark;
  }
  if (gaps == 0) return text;
  return line("gaps", "this machine did not run the generator " + grouped(gaps) +
                          (gaps == 1 ? " time, for " : " times, for up to ") +
                          milliseconds(longest.length) + " ms (at " + spoken(longest.at) + ")") +
         text;
}

// What the reader must know before believing the figures above.
std::string notes(const Report& report) {
  std::string text;
  if (report.plan.loop == Loop::closed) {
    text += line(
        "note", "a closed loop sends a slow server fewer requests: this latency omits those waits");
  } else if (is_late(report) ||
             (is_behind(report) && report.results.whole.ended(Ending::answered) > 0)) {
    text += line(is_late(report) ? "LATE" : "lag",
                 grouped(report.results.whole.sent()) + " of " +
                     grouped(report.results.whole.sent() + report.results.whole.unsent()) +
                     " requests sent, up to " + milliseconds(report.results.whole.lag().max()) +
                     " ms after their time; " + too_slow(report));
    text +=
        line("service time", percentiles(report.results.whole.service()) + ", from actual send");
  }
  const Histogram& connecting = report.results.whole.connecting();
  if (connecting.count() > 0) {
    text +=
        line("connecting", grouped(connecting.count()) +
                               (connecting.count() == 1 ? " connection    " : " connections    ") +
                               percentiles(connecting));
  }
  text += gap_lines(report);
  if (report.plan.warmup > Duration::zero()) {
    text += line("warm-up", spoken(report.plan.warmup) + ", " +
                                grouped(report.results.whole.warmup_sent()) +
                                " requests, not counted above");
  }
  for (const ErrorSample& error : report.errors.all()) {
    text += line(&error == &report.errors.all().front() ? "first error" : "",
                 error.text + " (at " + spoken(error.at) + ")");
  }
  if (report.interrupted) text += line("stopped", "by a signal after " + spoken(report.length));
  return text;
}

std::string part_line(const Report& report, const std::string& label, const Part& part) {
  const Tally& tally = report.results.of(part);
  std::string text =
      grouped(tally.sent()) + " sent, " + grouped(tally.ended(Ending::answered)) + " answered";
  if (tally.errors() > 0) text += ", errors " + grouped(tally.errors());
  if (tally.refused() > 0) text += ", refused " + grouped(tally.refused());
  if (tally.latency().count() > 0) text += "    " + percentiles(tally.latency());
  return line(label, text + (is_late(report, part) ? "    LATE" : ""));
}

// A line for each phase and each target, where there are several.
std::string part_lines(const Report& report) {
  std::string text;
  for (std::size_t i = 0; i < report.results.phases.size(); ++i) {
    text += part_line(report, "phase " + report.plan.phases[i].name, {.phase = i});
  }
  for (std::size_t i = 0; i < report.results.targets.size(); ++i) {
    text += part_line(report, "target " + report.plan.targets[i].name, {.target = i});
  }
  return text;
}

enum class Verdicts { passed, not_passed };

std::string verdict_lines(const std::vector<Verdict>& verdicts, Verdicts which) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    const bool passed = verdict.actual && !verdict.failed;
    if (passed != (which == Verdicts::passed)) continue;
    const char* label = passed ? "passed" : verdict.failed ? "FAILED" : "UNKNOWN";
    const char* what = verdict.use == Use::fail_if ? "fail if " : "";
    text += line(label, what + verdict.expression + ": " + verdict.shown);
  }
  return text;
}

}  // namespace

std::string progress_text(const LoadPlan& plan, const Tally& tally, Duration at) {
  std::string text = plain(std::floor(to_seconds(at))) + " s";
  if (plan.duration) text += " of " + spoken(plan.warmup + *plan.duration);
  if (at < plan.warmup) return text + "  warm-up, " + grouped(tally.warmup_sent()) + " sent";
  text += "  " + grouped(tally.sent()) + " sent  " + grouped(tally.ended(Ending::answered)) +
          " answered  " + grouped(tally.errors()) + (tally.errors() == 1 ? " error" : " errors");
  if (tally.latency().count() > 0) {
    text += "  p99 " + milliseconds(tally.latency().percentile(99)) + " ms";
  }
  return text + "  " + grouped(tally.cut()) + " in flight";
}

std::string report_text(const Report& report, const std::vector<Verdict>& verdicts) {
  std::string text = heading(report) + verdict_lines(verdicts, Verdicts::not_passed);
  const bool open = report.plan.loop == Loop::open;
  text += line(open ? "latency from planned send" : "latency from send",
               percentiles(report.results.whole.latency()));
  text += rate_line(report);
  text += status_line(report);
  if (report.track.joined()) text += scaling_line(report.track);
  text += notes(report);
  for (const Phase& phase : report.plan.phases) {
    if (phase.replay) text += replay_lines(*phase.replay);
  }
  text += part_lines(report);
  text += histogram_lines(report.results.whole.latency());
  return text + verdict_lines(verdicts, Verdicts::passed);
}

}  // namespace sluice::loadgen
