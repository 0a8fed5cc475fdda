#include "platform/process/replica_events.h"

#include "autoscaler/io/fleet_events.h"

#include <nlohmann/json.hpp>

namespace sluice::local {
using autoscaler::event_json;
using nlohmann::json;

void ReplicaEvents::exited(const std::string& service, const Replica& replica,
                           const ReplicaEnd& end, std::optional<Duration> retry_in) {
  json exited = event_json("replica", loop_.now());
  exited["service"] = service;
  exited["id"] = replica.id();
  exited["state"] = "exited";
  exited["exit_code"] = end.exit_code ? json(*end.exit_code) : json();
  exited["signal"] = end.signal ? json(*end.signal) : json();
  exited["before_ready"] = retry_in.has_value();
  if (retry_in) {
    exited["retry_in_ms"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(*retry_in).count();
  }
  exited["cause"] = name(end.cause.kind);
  exited["why"] = end.cause.sentence();
  exited["stderr_tail"] = end.stderr_tail;
  ring_.publish(exited);
}

void ReplicaEvents::waiting(const std::string& service, const Replica& replica,
                            const Cause& cause) {
  json warning = event_json("warning", loop_.now());
  warning["service"] = service;
  warning["replica"] = replica.id();
  warning["cause"] = name(cause.kind);
  warning["message"] = replica.id() + " is not ready: " + cause.sentence();
  ring_.publish(warning);
}

void ReplicaEvents::output(const std::string& service, const LogSource& source, bool is_stderr,
                           std::string_view line) {
  json log = event_json("log", loop_.now());
  log["service"] = service;
  log["replica"] = source.replica;
  log["start"] = source.start;
  log["stream"] = is_stderr ? "stderr" : "stdout";
  log["text"] = line;
  ring_.publish(log);
}

void ReplicaEvents::problem(const char* type, const std::string& service,
                            const std::string& message, const std::string& fix) {
  json problem = event_json(type, loop_.now());
  if (!service.empty()) problem["service"] = service;
  problem["message"] = message;
  if (!fix.empty()) problem["fix"] = fix;
  ring_.publish(problem);
}

}  // namespace sluice::local
