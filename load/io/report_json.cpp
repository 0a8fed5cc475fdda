#include "load/io/report_json.h"

#include <nlohmann/json.hpp>

#include "load/io/hdr_log.h"
#include "load/io/report_parts.h"
#include <cmath>

namespace sluice::loadgen {

using Json = nlohmann::ordered_json;

namespace {

const char* name_of(Curve curve) {
  switch (curve) {
    case Curve::linear:
      return "linear";
    case Curve::exponential:
      return "exponential";
    case Curve::sine:
      return "sine";
  }
  return "";
}

Json segment_of(const Segment& segment) {
  Json out{{"rate", segment.per_second}, {"for_s", s(segment.length)}};
  if (segment.per_second == segment.to_per_second) return out;
  out["to"] = segment.to_per_second;
  out["curve"] = name_of(segment.curve);
  if (segment.curve == Curve::sine) out["period_s"] = s(segment.period);
  return out;
}

Json segments_of(const Phase& phase) {
  Json out = Json::array();
  for (const Segment& segment : phase.segments) out.push_back(segment_of(segment));
  return out;
}

Json replay_of(const Replay& replay) {
  return {{"file", replay.trace.file},
          {"format", name_of(replay.format)},
          {"speed", replay.speed},
          {"times", replay.times},
          {"from_s", s(replay.part.from)},
          {"until_s", replay.part.until < Duration::max() ? Json(s(replay.part.until)) : Json{}},
          {"unsafe", replay.part.methods == Methods::all},
          {"requests", replay.requests},
          {"left_out", replay.left_out},
          {"resolution_s", s(replay.resolution)},
          {"skipped", replay.skipped}};
}

const char* name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::http1:
      return "http1";
    case Protocol::h2:
      return "h2";
    case Protocol::by_alpn:
      return "by_alpn";
    case Protocol::grpc:
      return "grpc";
    case Protocol::ws:
      return "ws";
  }
  return "";
}

// Where there is no scenario: what one phase adds to the plan.
void add_rates(const LoadPlan& plan, Json& out) {
  const Phase& phase = plan.phases.front();
  if (phase.replay) {
    out["seed"] = plan.seed;
    out["replay"] = replay_of(*phase.replay);
    return;
  }
  out["arrivals"] = plan.arrivals == Arrivals::poisson ? "poisson" : "uniform";
  out["seed"] = plan.seed;
  if (!phase.shape.empty()) out["shape"] = phase.shape;
  out["segments"] = segments_of(phase);
}

Json plan_of(const LoadPlan& plan) {
  const TargetPlan& target = plan.targets.front();
  Json out{{"loop", plan.loop == Loop::open ? "open" : "closed"},
           {"timeout_ms", ms(plan.timeout)},
           {"warmup_s", s(plan.warmup)},
           {"duration_s", nullptr},
           {"count", nullptr},
           {"connections", plan.connections},
           {"reuse", nullptr}};
  if (plan.duration) out["duration_s"] = s(*plan.duration);
  if (plan.count) out["count"] = *plan.count;
  if (plan.reuse) out["reuse"] = *plan.reuse;
  if (plan.loop == Loop::open) out["rate"] = mean_rate(plan);
  if (!plan.name.empty()) {
    out["arrivals"] = plan.arrivals == Arrivals::poisson ? "poisson" : "uniform";
    out["seed"] = plan.seed;
    return out;
  }
  out["url"] = target.url;
  out["method"] = target.method;
  out["body_bytes"] = target.body.size();
  out["protocol"] = name_of(target.target.protocol);
  if (plan.loop == Loop::open) add_rates(plan, out);
  return out;
}

Json requests_of(const Tally& tally) {
  return {{"sent", tally.sent()},       {"answered", tally.ended(Ending::answered)},
          {"refused", tally.refused()}, {"not_sent", tally.unsent()},
          {"cut", tally.cut()},         {"warmup", tally.warmup_sent()}};
}

Json errors_of(const Tally& tally) {
  Json out{
      {"total", tally.errors()}, {"rate", tally.error_rate()}, {"connect", tally.unconnected()}};
  for (const Ending ending : kEndings) {
    if (ending != Ending::answered) out[std::string{name_of(ending)}] = tally.ended(ending);
  }
  out["not_sent"] = tally.unsent();
  out["status_5xx"] = tally.server_errors();
  return out;
}

void add_samples(const ErrorSamples& samples, Json& out) {
  out["first"] = samples.all().empty() ? Json(nullptr) : Json(samples.first());
  Json rows = Json::array();
  for (const ErrorSample& sample : samples.all()) {
    rows.push_back({{"at_s", s(sample.at)}, {"text", sample.text}});
  }
  out["samples"] = std::move(rows);
}

Json counts_of(const std::map<unsigned, std::uint64_t>& counts) {
  Json out = Json::object();
  for (const auto& [status, count] : counts) out[std::to_string(status)] = count;
  return out;
}

// What came of the requests of a part, or of all.
void add_outcome(const Tally& tally, Json& out) {
  out["requests"] = requests_of(tally);
  out["status"] = counts_of(tally.statuses());
  if (!tally.grpc_statuses().empty()) out["grpc_status"] = counts_of(tally.grpc_statuses());
  out["errors"] = errors_of(tally);
  out["latency_ms"] = percentiles(tally.latency());
  out["service_ms"] = percentiles(tally.service());
  out["connect_ms"] = percentiles(tally.connecting());
}

Json targets_of(const Report& report) {
  Json out = Json::array();
  if (report.plan.name.empty()) return out;
  for (std::size_t i = 0; i < report.plan.targets.size(); ++i) {
    const TargetPlan& target = report.plan.targets[i];
    Json row{{"name", target.name},
             {"url", target.url},
             {"method", target.method},
             {"body_bytes", target.body.size()},
             {"protocol", name_of(target.target.protocol)}};
    add_outcome(report.results.of({.target = i}), row);
    out.push_back(std::move(row));
  }
  return out;
}

Json phases_of(const Report& report) {
  Json out = Json::array();
  if (report.plan.name.empty()) return out;
  for (std::size_t i = 0; i < report.plan.phases.size(); ++i) {
    const Phase& phase = report.plan.phases[i];
    Json row{{"name", phase.name},
             {"at_s", s(report.plan.begin_of(i))},
             {"for_s", s(phase.length())},
             {"late", is_late(report, {.phase = i})},
             {"rate_achieved", achieved_rate(report, {.phase = i})}};
    if (phase.replay) row["replay"] = replay_of(*phase.replay);
    if (!phase.replay) row["segments"] = segments_of(phase);
    if (!phase.mix.empty()) row["mix"] = phase.mix;
    add_outcome(report.results.of({.phase = i}), row);
    out.push_back(std::move(row));
  }
  return out;
}

Json generator_of(const Report& report) {
  const auto cause = late_cause(report);
  return {{"late", is_late(report)},
          {"cause", cause ? Json(name_of(*cause)) : Json(nullptr)},
          {"core_share_max", std::round(report.generator.busiest() * 1e3) / 1e3},
          {"rate_achieved", achieved_rate(report)},
          {"lag_ms", percentiles(report.results.whole.lag())},
          {"connections_used", report.connections},
          {"connection_waits", report.cap_waits},
          {"interrupted", report.interrupted}};
}

Json verdicts_of(const std::vector<Verdict>& verdicts, Use use) {
  Json out = Json::array();
  for (const Verdict& verdict : verdicts) {
    if (verdict.use != use) continue;
    const bool number = verdict.actual && std::isfinite(*verdict.actual);
    Json row{{"expression", verdict.expression},
             {"known", verdict.actual.has_value()},
             {"actual", number ? Json(*verdict.actual) : Json(nullptr)}};
    if (use == Use::fail_if) row["failed"] = verdict.failed;
    if (use == Use::assertion) row["holds"] = verdict.actual && !verdict.failed;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string report_json(const Report& report, const std::vector<Verdict>& verdicts,
                        const Circumstances& where, const std::string& compare) {
  Json out{{"schema", 1},
           {"name", run_name(report.plan)},
           {"started_at", where.started_at},
           {"length_s", s(report.length)},
           {"plan", plan_of(report.plan)}};
  add_outcome(report.results.whole, out);
  add_samples(report.errors, out["errors"]);
  out["body_bytes"] = report.results.whole.bytes();
  out["generator"] = generator_of(report);
  out["targets"] = targets_of(report);
  out["phases"] = phases_of(report);
  out["scaling"] = scaling_json(report);
  out["seconds"] = seconds_json(report);
  out["marks"] = marks_json(report);
  out["fail_if"] = verdicts_of(verdicts, Use::fail_if);
  out["assert"] = verdicts_of(verdicts, Use::assertion);
  out["compare"] = Json::parse(compare);
  out["hdr"] = hdr_text(report.results.whole.latency().buckets());
  out["environment"] = {{"host", where.host},
                        {"kernel", where.kernel},
                        {"cpu", where.cpu},
                        {"cpus", where.cpus},
                        {"command", where.command}};
  return readable(out);
}

}  // namespace sluice::loadgen
