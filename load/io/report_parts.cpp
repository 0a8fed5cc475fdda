#include "load/io/report_parts.h"

#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

using Json = nlohmann::ordered_json;

double ms(Duration duration) {
  return std::round(to_seconds(duration) * 1e6) / 1e3;
}

double s(Duration duration) {
  return std::round(to_seconds(duration) * 1e6) / 1e6;
}

nlohmann::ordered_json percentiles(const Histogram& times) {
  if (times.count() == 0) return nullptr;
  return {{"min", ms(times.min())},
          {"mean", ms(times.mean())},
          {"p50", ms(times.percentile(50))},
          {"p75", ms(times.percentile(75))},
          {"p90", ms(times.percentile(90))},
          {"p95", ms(times.percentile(95))},
          {"p99", ms(times.percentile(99))},
          {"p99_9", ms(times.percentile(99.9))},
          {"p99_99", ms(times.percentile(99.99))},
          {"max", ms(times.max())}};
}

namespace {

// Lists stand one level in, and each element of theirs in a line.
std::string readable(const Json& value, unsigned depth) {
  constexpr unsigned kDeepest = 2;
  if (!value.is_structured() || value.empty() || depth == kDeepest) return json_line(value);
  const std::string blanks(2 * (depth + 1), ' ');
  std::string out(1, value.is_object() ? '{' : '[');
  bool is_first = true;
  for (const auto& [name, member] : value.items()) {
    out += is_first ? "\n" : ",\n";
    is_first = false;
    out += blanks;
    if (value.is_object()) out += json_line(Json(name)) + ": ";
    out += value.is_object() ? readable(member, depth + 1) : json_line(member);
  }
  out.append("\n").append(2 * depth, ' ');
  return out + (value.is_object() ? '}' : ']');
}

// The rate that was planned for a row; null where answers decide.
Json rate_planned(const Report& report, std::size_t row, std::size_t target) {
  const SecondSeries& seconds = report.results.seconds;
  const Duration at = seconds.begin_of(row);
  if (report.plan.loop == Loop::closed) return nullptr;
  const Second& second = seconds.at(row, target);
  const bool replayed = report.plan.phases[phase_at(report.plan, at)].replay.has_value();
  const double requests = replayed
                              ? static_cast<double>(second.sent + second.not_sent)
                              : expected_requests(report.plan, target, at, at + seconds.step());
  return std::round(requests / to_seconds(seconds.step()) * 1e3) / 1e3;
}

Json second_json(const Report& report, std::size_t row, std::size_t target,
                 std::uint64_t in_flight) {
  const SecondSeries& seconds = report.results.seconds;
  const Second& second = seconds.at(row, target);
  const Duration at = seconds.begin_of(row);
  const bool timed = second.latency.count() > 0;
  const auto percentile = [&second, timed](double percent) -> Json {
    if (!timed) return nullptr;
    return ms(std::min(second.latency.percentile(percent), second.max));
  };
  Json out{{"at_s", s(at)},
           {"for_s", s(seconds.step())},
           {"target", report.plan.targets[target].name},
           {"phase", report.plan.phases[phase_at(report.plan, at)].name},
           {"rate_planned", rate_planned(report, row, target)},
           {"sent", second.sent},
           {"answered", second.answered},
           {"errors", second.errors},
           {"not_sent", second.not_sent},
           {"in_flight", in_flight},
           {"p50_ms", percentile(50)},
           {"p99_ms", percentile(99)},
           {"max_ms", timed ? Json(ms(second.max)) : Json(nullptr)},
           {"histogram", second.latency.text()}};
  if (report.track.joined()) out["replicas"] = report.track.ready_at(at);
  return out;
}

}  // namespace

std::string readable(const Json& report) {
  return readable(report, 0) + "\n";
}

Json seconds_json(const Report& report) {
  const SecondSeries& seconds = report.results.seconds;
  std::vector<std::vector<std::uint64_t>> in_flight;
  for (std::size_t i = 0; i < seconds.targets(); ++i) in_flight.push_back(seconds.in_flight(i));
  Json out = Json::array();
  for (std::size_t row = 0; row < seconds.rows(); ++row) {
    for (std::size_t target = 0; target < seconds.targets(); ++target) {
      out.push_back(second_json(report, row, target, in_flight[target][row]));
    }
  }
  return out;
}

Json marks_json(const Report& report) {
  Json out = Json::array();
  for (const Mark& mark : report.generator.marks()) {
    out.push_back({{"at_s", s(mark.at)}, {"kind", name_of(mark.kind)}, {"ms", ms(mark.length)}});
  }
  return out;
}

namespace {

Json rows_json(const ScalingRows& scaling) {
  Json out = Json::array();
  for (const ScalingRow& row : scaling.rows()) {
    Json values = Json::array({s(row.at)});
    for (const double value : row.values) {
      values.push_back(std::isnan(value) ? Json(nullptr) : Json(std::round(value * 1e3) / 1e3));
    }
    out.push_back(std::move(values));
  }
  return out;
}

Json columns_json() {
  Json out = Json::array({"at_s"});
  for (const std::string_view name : kScalingNames) out.push_back(name);
  return out;
}

Json decisions_json(const ReplicaTrack& track) {
  Json out = Json::array();
  for (const ReplicaTrack::Decision& decision : track.decisions()) {
    out.push_back({{"at_s", s(decision.at)},
                   {"service", decision.service},
                   {"from", decision.from},
                   {"to", decision.to},
                   {"mode", decision.panic ? "panic" : "stable"},
                   {"why", decision.why}});
  }
  return out;
}

Json cold_starts_json(const ReplicaTrack& track) {
  Json out = Json::array();
  for (const ReplicaTrack::ColdStart& cold : track.cold_starts()) {
    Json phases = Json::object();
    for (const auto& [name, took] : cold.phases_ms) phases[name] = took;
    out.push_back({{"at_s", s(cold.at)},
                   {"service", cold.service},
                   {"replica", cold.replica},
                   {"total_ms", ms(cold.total)},
                   {"phases_ms", std::move(phases)}});
  }
  return out;
}

Json track_json(const ReplicaTrack& track, const Tally& tally, Duration length) {
  Json replicas = Json::array();
  for (const auto& point : track.points()) {
    replicas.push_back({{"at_s", s(point.at)}, {"ready", point.ready}});
  }
  Json panics = Json::array();
  for (const auto& panic : track.panics()) {
    panics.push_back({{"from_s", s(panic.from)}, {"to_s", s(panic.to)}});
  }
  const auto zero = track.time_to_zero(tally.last_end());
  const double queued = track.scaling().queued_max();
  return {{"service", track.service()},
          {"replicas_max", track.ready_max()},
          {"replicas_seconds", std::round(track.replica_seconds(length) * 1e3) / 1e3},
          {"queue_max", std::isnan(queued) ? Json(nullptr) : Json(queued)},
          {"replicas", std::move(replicas)},
          {"columns", columns_json()},
          {"rows", rows_json(track.scaling())},
          {"decisions", decisions_json(track)},
          {"cold_start_count", track.cold_start_times().count()},
          {"cold_start_ms", percentiles(track.cold_start_times())},
          {"cold_starts", cold_starts_json(track)},
          {"panics", std::move(panics)},
          {"time_to_zero_s", zero ? Json(s(*zero)) : Json(nullptr)}};
}

}  // namespace

Json scaling_json(const Report& report) {
  if (!report.track.joined()) return nullptr;
  Json out = track_json(report.track, report.results.whole, report.length);
  Json services = Json::array();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < report.tracks.size(); ++i) {
    const ReplicaTrack& track = report.tracks[i];
    if (!track.joined() || !seen.insert(track.service()).second) continue;
    services.push_back(track_json(track, report.results.of({.target = i}), report.length));
  }
  if (services.size() > 1) out["services"] = std::move(services);
  return out;
}

}  // namespace sluice::loadgen
