#include "programs/sluice/commands/doctor_knative_changes.h"

#include "common/log/request_log.h"

#include <algorithm>

namespace sluice::commands {
namespace {

using settings::KnativeContract;
using Lines = std::vector<std::string>;

constexpr const char* kController = "controller";

std::string setting(const KnativeFacts& facts, std::string_view key) {
  if (!facts.observability) return {};
  const auto found = facts.observability->find(key);
  return found == facts.observability->end() ? std::string{} : found->second;
}

bool is_older(const KnativeFacts& facts) {
  return contract_beside(facts) == KnativeContract::older;
}

// Of both parts that requests pass through.
void add_timeouts(const KnativeFacts& facts, Lines& lines) {
  if (is_older(facts)) {
    lines.emplace_back(
        "a response that idleTimeoutSeconds ends midway is broken off (HTTP/2: reset, gRPC: status "
        "4) and gets no text `request timeout` in its body; as before, timeoutSeconds bounds the "
        "time to the first byte only");
    lines.emplace_back(
        "a WebSocket is ended by timeoutSeconds and responseStartTimeoutSeconds unless the service "
        "has sent something by then; its traffic restarts idleTimeoutSeconds; its client gets a "
        "Close frame 1001");
    return;
  }
  lines.emplace_back(
      "a response that timeoutSeconds or idleTimeoutSeconds ends midway is broken off (HTTP/2: "
      "reset, gRPC: status 4) and gets no text `request timeout` in its body");
  lines.emplace_back(
      "a WebSocket is not ended by responseStartTimeoutSeconds, since the 101 is its response; its "
      "traffic restarts idleTimeoutSeconds; its client gets a Close frame 1001 from a timer");
}

void add_answers(const char* program, Lines& lines) {
  lines.push_back(std::string{"503s of the "} + program +
                  " carry Retry-After: 1, and each of its own answers says why in Sluice-Error");
  lines.emplace_back(
      "ambiguous messages are refused with 400, such as Content-Length beside "
      "Transfer-Encoding; CONNECT is 405; a request has 1000 header fields at most");
}

void add_log(const KnativeFacts& facts, const char* where, Lines& lines) {
  std::string line = std::string{"the request log is set by "} + where;
  const std::string written = setting(facts, "logging.request-log-template");
  const log::RequestLog log{written};
  if (!log.warning().empty()) {
    line += ", but in the default template: " + log.warning();
  } else {
    line += "; a template may have fields, headers and js of them, no other action";
  }
  lines.push_back(std::move(line));
}

}  // namespace

std::string release_of(const KnativeFacts& facts) {
  const auto& programs = facts.programs;
  const auto is_release = [](const KnativeFacts::Program& program) {
    return settings::knative_minor(program.version).has_value();
  };
  auto found = std::find_if(programs.begin(), programs.end(), [&](const auto& program) {
    return program.name == kController && is_release(program);
  });
  if (found == programs.end()) found = std::find_if(programs.begin(), programs.end(), is_release);
  return found == programs.end() ? std::string{} : found->version;
}

KnativeContract contract_beside(const KnativeFacts& facts) {
  return settings::contract_of(release_of(facts)).value_or(KnativeContract::current);
}

Lines sidecar_changes(const KnativeFacts& facts) {
  Lines lines;
  add_timeouts(facts, lines);
  add_answers("sidecar", lines);
  lines.emplace_back("the status after a 100 or 103 is the application's; Knative's makes it 200");
  lines.emplace_back("Content-Type and Date are not added where the application sent none");
  lines.emplace_back(
      "requests wait first come, first served, and one whose client left frees its place at "
      "once; a client that left is counted and logged as 499");
  lines.emplace_back(
      "a pod that ends serves until nothing is in flight, streams too, within its grace period; "
      "/wait-for-drain starts a drain for the pod itself, loopback and SLUICE_NODE_ADDRESS only");
  if (is_older(facts)) {
    add_log(facts,
            "SERVING_ENABLE_REQUEST_LOG, SERVING_REQUEST_LOG_TEMPLATE and "
            "SERVING_ENABLE_PROBE_REQUEST_LOG, as before",
            lines);
    lines.emplace_back(
        "metrics keep their port 9091 and their names revision_*, with SERVING_REQUEST_METRICS_"
        "BACKEND=prometheus; others are not exported; sluice_* and process_* come, go_* go");
    lines.emplace_back("port 9090 answers its scraper in protobuf only, never in Prometheus' text");
  } else {
    add_log(facts, "OBSERVABILITY_CONFIG, as before", lines);
    lines.emplace_back(
        "metrics keep their names kn_* and http_*, on port 9091, which is open unless "
        "requestMetrics names another protocol; those are not exported; sluice_* and process_* "
        "come, go_* go");
  }
  lines.emplace_back("traces are not exported; trace context is passed on");
  return lines;
}

Lines autoscaler_changes() {
  return {
      std::string{"scale is decided by ours, with the same arithmetic, for revisions of our class; "
                  "all others stay Knative's"},
      "a revision whose pods send no stats keeps its scale; Knative's takes silence for zero",
      "a scale is not lowered before one stable window after it changed hands",
      "ours reads its settings from autoscaler.config of the chart, not from config-autoscaler",
      "decisions are logged and measured by ours (sluice_*, kn_*), no longer as autoscaler_*"};
}

Lines activator_changes(const KnativeFacts& facts) {
  Lines lines;
  add_timeouts(facts, lines);
  add_answers("activator", lines);
  lines.emplace_back(
      "10000 requests wait per revision, 50000 and 512 MiB in all; more are 503 `pending request "
      "queue full`");
  lines.emplace_back(
      "a request goes to another pod, twice at most, when the first one certainly did nothing with "
      "it; with containerConcurrency 0 or from 4 up the pod with the fewest requests is chosen");
  lines.emplace_back(
      "it stays ready while the autoscaler is away, and after SIGTERM serves on for "
      "SLUICE_DRAIN_QUIET (45s)");
  if (is_older(facts)) {
    add_log(facts,
            "SERVING_ENABLE_REQUEST_LOG and SERVING_REQUEST_LOG_TEMPLATE of activator.env, not by "
            "config-observability",
            lines);
    lines.emplace_back(
        "metrics of Knative's revisions keep their names activator_*, on port 9090; sluice_* come");
  } else {
    add_log(facts, "OBSERVABILITY_CONFIG of activator.env, not by config-observability", lines);
    lines.emplace_back("metrics keep their names kn_* and http_*, on port 9090; sluice_* come");
  }
  lines.emplace_back("traces are not exported; trace context is passed on");
  return lines;
}

}  // namespace sluice::commands
