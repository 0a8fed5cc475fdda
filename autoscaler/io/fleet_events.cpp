#include "autoscaler/io/fleet_events.h"

#include "autoscaler/io/cold_start_json.h"
#include "autoscaler/io/revision.h"
#include "autoscaler/io/status_json.h"
#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {

using nlohmann::json;

json event_json(const char* type, TimePoint now) {
  return {{"type", type}, {"time", format_time(now)}};
}

json event_json(const char* type, TimePoint now, const About& of) {
  return {{"type", type},
          {"time", format_time(now)},
          {"namespace", of.id.space},
          {"service", of.service},
          {"revision", of.id.name}};
}

FleetEvents::FleetEvents(const Loop& clock, api::EventRing& events, History& history,
                         const FrontFacts* front)
    : clock_{clock}, events_{events}, history_{history}, front_{front} {}

FleetEvents::~FleetEvents() = default;

void FleetEvents::decided(const model::Revision& facts, const DecisionRecord& record) {
  history_.record(facts, record);
  events_.publish({.type = "decision", .space = facts.id.space, .service = facts.service},
                  [of = about(facts), record] {
                    json event = decision_json(record, of);
                    event["type"] = "decision";
                    return event;
                  });
}

void FleetEvents::warn(const model::Revision& facts, const std::string& message,
                       const std::string& fix) {
  json event = event_json("warning", clock_.now(), about(facts));
  event["message"] = message;
  if (!fix.empty()) event["fix"] = fix;
  events_.publish(event);
}

void FleetEvents::cold_start(const Revision& revision, const proto::ColdStart& start) {
  const TimePoint now = clock_.now();
  proto::ColdStart& took =
      seen_[revision.facts().id].cold_start.emplace(ColdStart{now, start}).took;
  for (const Revision::PodFacts& pod : revision.pods()) {
    const bool served = pod.watched.address && pod.watched.address->text() == start.pod;
    if (served) took.pod = pod.watched.id.name;
  }
  const json event = cold_start_json(revision.facts(), took, now);
  history_.record_cold_start(revision.facts(), now, event);
  events_.publish(event);
}

json FleetEvents::last_cold_start(const Revision& revision) const {
  if (front_ != nullptr) return front_->last_cold_start(revision);
  const auto found = seen_.find(revision.facts().id);
  if (found == seen_.end() || !found->second.cold_start) return {};
  return cold_start_json(revision.facts(), found->second.cold_start->took,
                         found->second.cold_start->at);
}

void FleetEvents::changed(const Revision& revision) {
  if (watch_ != nullptr) watch_->on_changed(revision);
  const auto [at, first] = seen_.try_emplace(revision.facts().id);
  Seen& seen = at->second;
  const std::string_view state = state_of(revision);
  const bool other_state = std::exchange(seen.state, state) != state;
  if (!same_pods(revision, seen)) {
    std::vector<SeenPod> now;
    now.reserve(revision.pods().size());
    for (const Revision::PodFacts& pod : revision.pods()) {
      now.push_back({.name = pod.watched.id.name,
                     .state = state_of(revision, pod),
                     .throttled = revision.throttled(pod),
                     .failed = pod.watched.failed});
    }
    const std::vector<SeenPod> before = std::exchange(seen.pods, std::move(now));
    if (begun_ && !first) compare_pods(revision, before, seen.pods);
  }
  const bool added =
      std::exchange(seen.in_service, revision.facts().in_service) != revision.facts().in_service ||
      first;
  if (!begun_ || !revision.facts().in_service) return;
  // What takes the place of another revision is the same service.
  const bool fresh = added && revision.facts().replaces.empty();
  if (added || other_state) publish_service(revision, fresh ? "added" : "");
}

// The way of every evaluation: nothing is built for a revision of which nothing has changed.
bool FleetEvents::same_pods(const Revision& revision, const Seen& seen) const {
  return std::equal(
      revision.pods().begin(), revision.pods().end(), seen.pods.begin(), seen.pods.end(),
      [&revision](const Revision::PodFacts& pod, const SeenPod& before) {
        return pod.watched.id.name == before.name && state_of(revision, pod) == before.state &&
               revision.throttled(pod) == before.throttled && pod.watched.failed == before.failed;
      });
}

void FleetEvents::compare_pods(const Revision& revision, const std::vector<SeenPod>& before,
                               const std::vector<SeenPod>& now) {
  std::unordered_map<std::string_view, const SeenPod*> old;
  for (const SeenPod& pod : before) old.emplace(pod.name, &pod);
  for (const SeenPod& pod : now) {
    const auto found = old.find(pod.name);
    const SeenPod* const was = found == old.end() ? nullptr : found->second;
    if (was != nullptr) old.erase(found);
    if (was == nullptr || *was != pod) {
      publish_pod(revision, pod, pod.state, was);
    }
  }
  for (const SeenPod& pod : before) {
    if (!old.contains(pod.name)) continue;
    const bool chosen = pod.state == "draining";
    if (chosen || front_ == nullptr) {
      publish_pod(revision, pod, chosen ? "stopped" : "exited", nullptr);
    }
  }
}

void FleetEvents::publish_pod(const Revision& revision, const SeenPod& pod, std::string_view state,
                              const SeenPod* before) {
  const model::Revision& facts = revision.facts();
  const bool says_throttled = pod.throttled || (before != nullptr && before->throttled);
  api::Event::Body body = [of = about(facts), at = clock_.now(), pod, state, says_throttled] {
    json event = event_json("replica", at, of);
    event["id"] = pod.name;
    event["state"] = state;
    if (says_throttled) event["throttled"] = pod.throttled;
    if (!pod.failed.empty()) event["why"] = pod.failed;
    return event;
  };
  if (front_ == nullptr) {
    events_.publish({"replica", facts.id.space, facts.service, pod.name}, std::move(body));
    return;
  }
  json event = body();
  front_->complete_replica(revision, {pod.name}, event);
  events_.publish(event);
}

std::optional<double> FleetEvents::last_cold_start_ms(const Revision& revision) const {
  if (front_ != nullptr) {
    const json last = front_->last_cold_start(revision);
    return last.is_null() ? std::nullopt : std::optional{last.at("total_ms").get<double>()};
  }
  const auto found = seen_.find(revision.facts().id);
  if (found == seen_.end() || !found->second.cold_start) return std::nullopt;
  return rounded_ms(found->second.cold_start->took.total());
}

void FleetEvents::publish_service(const Revision& revision, std::string_view what) {
  const model::Revision& facts = revision.facts();
  api::Event::Body body = [status = status_of(revision, last_cold_start_ms(revision)),
                           at = clock_.now(), what = std::string{what}] {
    json event = status_json(status);
    event["type"] = "service";
    event["time"] = format_time(at);
    event["service"] = status.of.service;
    if (!what.empty()) event["event"] = what;
    return event;
  };
  if (front_ == nullptr) {
    events_.publish({.type = "service", .space = facts.id.space, .service = facts.service},
                    std::move(body));
    return;
  }
  json event = body();
  front_->complete(revision, event);
  events_.publish(event);
}

void FleetEvents::spec_changed(const Revision& revision) {
  const bool tells = front_ == nullptr && begun_ && revision.facts().in_service;
  if (tells) publish_service(revision, "changed");
}

void FleetEvents::pressure_changed(const std::string& name, const NodeBook::Node& node) {
  json event = node_json(name, node);
  for (const char* const key : {"name", "silent", "heard", "throttled"}) event.erase(key);
  event.update(event_json("memory", clock_.now()));
  event["node"] = name;
  event["why"] = "on node " + name;
  events_.publish(event);
}

void FleetEvents::gone(const Revision& revision, std::string_view what) {
  if (watch_ != nullptr) watch_->on_gone(revision);
  const bool known = seen_.erase(revision.facts().id) > 0;
  if (known && begun_ && revision.facts().in_service) publish_service(revision, what);
}

}  // namespace sluice::autoscaler
