#include "load/io/report_parts.h"

#include "common/json/write.h"

#include <nlohmann/json.hpp>

#include "load/core/second_rows.h"
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

Json second_json(const Report& report, const SecondRow& row) {
  const auto time = [](const std::optional<Duration>& value) {
    return value ? Json(ms(*value)) : Json(nullptr);
  };
  const Second& counts = *row.counts;
  Json out{{"at_s", s(row.at)},           {"for_s", s(row.length)},
           {"target", row.target},        {"phase", row.phase},
           {"rate_planned", nullptr},     {"sent", counts.sent},
           {"answered", counts.answered}, {"errors", counts.errors},
           {"not_sent", counts.not_sent}, {"in_flight", row.in_flight},
           {"p50_ms", time(row.p50)},     {"p99_ms", time(row.p99)},
           {"max_ms", time(row.max)},     {"histogram", counts.latency.text()}};
  if (row.rate_planned) out["rate_planned"] = std::round(*row.rate_planned * 1e3) / 1e3;
  if (report.track.joined()) out["replicas"] = report.track.ready_at(row.at);
  return out;
}

}  // namespace

std::string readable(const Json& report) {
  return readable(report, 0) + "\n";
}

Json seconds_json(const Report& report) {
  Json out = Json::array();
  for (const SecondRow& row : second_rows(report)) out.push_back(second_json(report, row));
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
