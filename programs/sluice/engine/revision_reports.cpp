// What a revision hears from its sidecars and what it tells the outside: scrapes, events, log
// lines.

#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "programs/sluice/engine/revision.h"
#include "programs/sluice/engine/revision_instance.h"
#include <algorithm>

namespace sluice::local {

void Revision::scrape() {
  const TimePoint now = platform_.clock.now();
  std::vector<autoscaler::Pod> pods;
  for (const auto& instance : instances_) {
    if (!instance->is_ready()) continue;
    pods.push_back({.id = {instance->replica->id()},
                    .address = "unix:" + instance->replica->stats_socket().string(),
                    .phase = autoscaler::PodPhase::running,
                    .ready = true,
                    .started_at = instance->ready_at});
  }
  scraper_.start(pods, scaler_->spec().decider.stable_window, now);
}

void Revision::scrape_ended(const autoscaler::ScrapeResult& result) {
  if (retired_) return;
  if (result && *result) scaler_->scraped(**result, platform_.clock.now());
  const auto error = result ? std::nullopt : std::optional{result.error()};
  if (!scrape_health_.scraped(error)) return;
  platform_.log.write(error ? log::Severity::warning : log::Severity::info,
                      error ? describe(*error) : "scrapes succeed again",
                      {{"revision", facts_.name}});
}

void Revision::on_output(Replica& replica, OutputSource source, std::string_view line) {
  const TimePoint now = platform_.clock.now();
  log_.append(now, replica.id(), line);
  if (source == OutputSource::sidecar) return;
  nlohmann::json event = event_json("log", now);
  event["service"] = facts_.spec.name;
  event["replica"] = replica.id();
  event["stream"] = source == OutputSource::app_stderr ? "stderr" : "stdout";
  event["text"] = line;
  platform_.events.publish(event);
}

void Revision::on_warning(Replica& /*replica*/, const std::string& text) {
  warn(text, "");
}

void Revision::warn(const std::string& message, const std::string& fix) {
  nlohmann::json event = event_json("warning", platform_.clock.now());
  event["service"] = facts_.spec.name;
  event["message"] = message;
  if (!fix.empty()) event["fix"] = fix;
  platform_.events.publish(event);
}

nlohmann::json Revision::replica_event(const Replica& replica, const char* state) const {
  nlohmann::json event = event_json("replica", platform_.clock.now());
  event["service"] = facts_.spec.name;
  event["id"] = replica.id();
  event["state"] = state;
  event["pid"] = replica.app_pid();
  event["port"] = replica.port();
  return event;
}

void Revision::publish_replica(const Replica& replica, const char* state, const ReplicaEnd* end) {
  nlohmann::json event = replica_event(replica, state);
  if (end != nullptr) {
    event.erase("pid");
    event.erase("port");
    event["exit_code"] = end->exit_code ? nlohmann::json(*end->exit_code) : nlohmann::json();
    event["signal"] = end->signal ? nlohmann::json(*end->signal) : nlohmann::json();
    const bool early = !instance_of(replica).ready_at.has_value();
    event["before_ready"] = early;
    if (early) {
      const Duration left = backoff_.wait_left(platform_.clock.now());
      event["retry_in_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    }
    event["why"] = end->reason;
    event["stderr_tail"] = end->stderr_tail;
  }
  platform_.events.publish(event);
}

void Revision::publish_leaving(const Replica& replica, const std::string& why) {
  nlohmann::json event = replica_event(replica, "draining");
  if (!why.empty()) event["why"] = why;
  platform_.events.publish(event);
}

void Revision::publish_throttled(const Replica& replica, bool throttled, const std::string& why) {
  nlohmann::json event = replica_event(replica, "ready");
  event["throttled"] = throttled;
  if (!why.empty()) event["why"] = why;
  platform_.events.publish(event);
}

void Revision::publish_decision(const autoscaler::DecisionRecord& record) {
  told_granted_ = record.granted;
  told_limit_ = record.bound_by == autoscaler::Bound::capacity;
  nlohmann::json decision = decision_json(record, facts_.spec.name);
  if (platform_.history != nullptr) {
    nlohmann::json kept = decision;
    kept["inputs"] = decision_inputs_json(record);
    platform_.history->record_decision(facts_.spec.name, record.time, kept);
  }
  decision["type"] = "decision";
  platform_.events.publish(decision);
}

nlohmann::json Revision::replicas_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& instance : instances_) {
    const Replica& replica = *instance->replica;
    const auto seen = platform_.memory.bytes_of(replica.id());
    const char* state = instance->ended      ? "exited"
                        : instance->draining ? "draining"
                        : instance->ready_at ? "ready"
                                             : "starting";
    list.push_back({{"id", replica.id()},
                    {"state", state},
                    {"pid", replica.app_pid()},
                    {"port", replica.port()},
                    {"in_flight", platform_.front->in_flight(handle_, {replica.id()})},
                    {"memory_bytes", seen ? *seen : replica.memory_bytes()},
                    {"throttled", instance->throttled}});
  }
  return list;
}

}  // namespace sluice::local
