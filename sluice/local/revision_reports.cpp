// What a revision hears from its sidecars and what it tells the outside: scrapes, events, log lines.

#include "sluice/local/revision.h"
#include "sluice/local/revision_instance.h"
#include "sluice/local/time_text.h"

#include "autoscaler/core/collector.h"
#include "common/proto/stat_codec.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice::local {

namespace {

constexpr std::chrono::milliseconds kScrapeTimeout{900};

net::FetchRequest scrape_request(const std::filesystem::path& socket) {
  net::FetchRequest request;
  request.target.path = socket.string();
  request.head =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/protobuf\r\n"
      "Connection: close\r\n\r\n";
  request.timeout = kScrapeTimeout;
  request.body_max = proto::kStatBytesMax;
  return request;
}

}  // namespace

// A sample of the ready replicas, the newest last in the list so that new ones are asked only when
// the old do not suffice (autoscaler.md 1.4).
void Revision::scrape() {
  std::vector<const Replica*> ready;
  for (const auto& instance : instances_) {
    if (instance->is_ready()) ready.push_back(instance->replica.get());
  }
  ++round_;
  answers_.clear();
  fetches_.clear();
  round_ready_ = static_cast<std::int32_t>(ready.size());
  if (ready.empty()) return;
  const auto wanted = static_cast<std::size_t>(autoscaler::sample_size(round_ready_));
  // Rotated by the round, so that over time every replica is asked.
  std::rotate(ready.begin(),
              ready.begin() + static_cast<std::ptrdiff_t>(round_ % ready.size()), ready.end());
  ready.resize(std::min(wanted, ready.size()));
  round_open_ = ready.size();
  for (const Replica* replica : ready) {
    fetches_.push_back(std::make_unique<net::Fetch>(
        platform_.io, scrape_request(replica->stats_socket()),
        [this, round = round_](const Result<net::FetchResponse>& response) {
          if (round != round_) return;
          if (response && response->head.status == 200) {
            if (const auto stat = proto::decode_stat(response->body)) {
              answers_.push_back({stat->average_concurrent_requests,
                                  stat->average_proxied_concurrent_requests, stat->request_count,
                                  stat->proxied_request_count});
            }
          }
          if (--round_open_ == 0) {
            scaler_.scraped(answers_, round_ready_, platform_.clock.now());
          }
        }));
  }
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

void Revision::on_warning(Replica& /*replica*/, const std::string& text) { warn(text, ""); }

void Revision::warn(const std::string& message, const std::string& fix) {
  nlohmann::json event = event_json("warning", platform_.clock.now());
  event["service"] = facts_.spec.name;
  event["message"] = message;
  if (!fix.empty()) event["fix"] = fix;
  platform_.events.publish(event);
}

void Revision::publish_replica(const Replica& replica, const char* state, const ReplicaEnd* end) {
  nlohmann::json event = event_json("replica", platform_.clock.now());
  event["service"] = facts_.spec.name;
  event["id"] = replica.id();
  event["state"] = state;
  if (end == nullptr) {
    event["pid"] = replica.app_pid();
    event["port"] = replica.port();
  } else {
    event["exit_code"] = end->exit_code ? nlohmann::json(*end->exit_code) : nlohmann::json();
    event["signal"] = end->signal ? nlohmann::json(*end->signal) : nlohmann::json();
    const bool early = !instance_of(replica).ready_at.has_value();
    event["before_ready"] = early;
    if (early) {
      const Duration left = backoff_.wait_left(platform_.clock.now());
      event["retry_in_ms"] =
          std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
    }
    event["why"] = end->reason;
    event["stderr_tail"] = end->stderr_tail;
  }
  platform_.events.publish(event);
}

void Revision::publish_decision(const autoscaler::DecisionRecord& record) {
  nlohmann::json decision = decision_json(record, facts_.spec.name);
  if (platform_.history != nullptr) {
    platform_.history->record_decision(facts_.spec.name, record.time, decision);
  }
  decision["type"] = "decision";
  platform_.events.publish(decision);
}

nlohmann::json Revision::replicas_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& instance : instances_) {
    const Replica& replica = *instance->replica;
    const char* state = instance->ended      ? "exited"
                        : instance->draining ? "draining"
                        : instance->ready_at ? "ready"
                                             : "starting";
    list.push_back({{"id", replica.id()},
                    {"state", state},
                    {"pid", replica.app_pid()},
                    {"port", replica.port()},
                    {"in_flight", platform_.front->in_flight(handle_, {replica.id()})},
                    {"memory_bytes", replica.memory_bytes()},
                    {"throttled", false}});
  }
  return list;
}

}  // namespace sluice::local
