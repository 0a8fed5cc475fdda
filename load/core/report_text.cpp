#include "load/core/quantity.h"
#include "load/core/report.h"
#include <array>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kHeadingWidth = 62;
constexpr std::size_t kLabelWidth = 28;

std::string line(const std::string& label, const std::string& text) {
  std::string out = "  " + label;
  out.append(kLabelWidth - label.size(), ' ');
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
  const std::string lag = "lag p99 " + milliseconds(report.tally.lag().percentile(99)) + " ms";
  if (!is_late(report)) return ", generator on time (" + lag + ")";
  return ", generator LATE: " + lag + ", max " + milliseconds(report.tally.lag().max()) + " ms";
}

std::string heading(const Report& report) {
  std::string text = describe(report.plan);
  const std::size_t width = columns(text);
  text.append(width < kHeadingWidth ? kHeadingWidth - width : 2, ' ');
  text += grouped(report.tally.sent()) + " sent, ";
  text += grouped(report.tally.ended(Ending::answered)) + " answered";
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

std::string error_classes(const Tally& tally) {
  const std::array<std::pair<const char*, std::uint64_t>, 5> classes{
      {{"connect", tally.ended(Ending::connect)},
       {"reset", tally.ended(Ending::reset)},
       {"invalid", tally.ended(Ending::invalid)},
       {"5xx", tally.server_errors()},
       {"not sent", tally.unsent()}}};
  std::string text;
  for (const auto& [name, count] : classes) {
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string{name} + " " + grouped(count);
  }
  return text.empty() ? text : " (" + text + ")";
}

std::string status_line(const Report& report) {
  const Tally& tally = report.tally;
  std::string text;
  for (const auto& [status, count] : tally.statuses()) {
    text += (text.empty() ? "" : "  ") + std::to_string(status) + ": " + grouped(count);
  }
  if (text.empty()) text = "none";
  if (tally.refused() > 0) text += "    refused " + grouped(tally.refused());
  const std::uint64_t timeouts = tally.ended(Ending::timeout);
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
    text += line("left out", grouped(replay.left_out) +
                                 (replay.left_out == 1 ? " request" : " requests") +
                                 " of the trace with other methods than GET, HEAD and OPTIONS");
  }
  if (!replay.skipped.empty()) text += line("skipped", replay.skipped);
  return text;
}

// What the reader must know before believing the figures above.
std::string notes(const Report& report) {
  std::string text;
  if (report.plan.loop == Loop::closed) {
    text += line(
        "note", "a closed loop sends a slow server fewer requests: this latency omits those waits");
  } else if (is_late(report)) {
    const bool capped = report.cap_waits > 0;
    text += line(
        "LATE",
        grouped(report.tally.sent()) + " of " +
            grouped(report.tally.sent() + report.tally.unsent()) + " requests sent, up to " +
            milliseconds(report.tally.lag().max()) + " ms after their time; " +
            (capped ? "all " + grouped(report.connections) +
                          " allowed connections were busy: the server is too slow"
                    : "this machine is too slow, or the server accepts connections too slowly"));
    text += line("service time", percentiles(report.tally.service()) + ", from actual send");
  }
  if (report.plan.warmup > Duration::zero()) {
    text +=
        line("warm-up", spoken(report.plan.warmup) + ", " + grouped(report.tally.warmup_sent()) +
                            " requests, not counted above");
  }
  if (!report.first_error.empty()) text += line("first error", report.first_error);
  if (report.interrupted) text += line("stopped", "by a signal after " + spoken(report.length));
  return text;
}

}  // namespace

std::string report_text(const Report& report, const std::vector<Verdict>& verdicts) {
  std::string text = heading(report);
  const bool open = report.plan.loop == Loop::open;
  text += line(open ? "latency from planned send" : "latency from send",
               percentiles(report.tally.latency()));
  text += status_line(report);
  if (report.track.joined()) text += scaling_line(report.track);
  text += notes(report);
  if (report.plan.replay) text += replay_lines(*report.plan.replay);
  for (const Verdict& verdict : verdicts) {
    const char* label = !verdict.actual ? "UNKNOWN" : verdict.failed ? "FAILED" : "passed";
    text += line(label, "fail if " + verdict.expression + ": " + verdict.shown);
  }
  return text;
}

}  // namespace sluice::loadgen
