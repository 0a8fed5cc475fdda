#include "load/io/engine_events.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace sluice::loadgen {

using Json = nlohmann::json;

namespace {

// The text of `key`, or nothing for whatever else stands there: what another program sends is never
// trusted to have the right type.
std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

Json parse_object(std::string_view text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_object() ? value : Json{};
}

// A list stands bare or, when it comes in pages, under a name beside `next`.
const Json& list_in(const Json& answer) {
  for (const char* name : {"services", "items"}) {
    if (answer.is_object() && answer.contains(name)) return answer.at(name);
  }
  return answer;
}

const Json* find_service(const Json& services, const Target& target) {
  for (const Json& service : services) {
    if (!service.is_object()) continue;
    const auto url = parse_target(text_of(service, "url"));
    if (url && url->host == target.host) return &service;
  }
  // Behind `localhost` and addresses stands the only service there is (one-machine.md 4).
  const bool bare = target.host == "localhost" ||
                    target.host.find_first_not_of("0123456789.:") == std::string::npos;
  return bare && services.size() == 1 && services.front().is_object() ? &services.front() : nullptr;
}

}  // namespace

void EventLines::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n') {
      take_line();
      line_.clear();
    } else if (line_.size() + data_.size() < kEventBytesMax) {
      if (c != '\r') line_ += c;
    } else {
      too_long_ = true;
    }
  }
}

void EventLines::take_line() {
  if (line_.empty()) {
    if (!data_.empty() && !too_long_) sink_(event_, data_);
    event_.clear();
    data_.clear();
    too_long_ = false;
    return;
  }
  const std::size_t colon = line_.find(':');
  if (colon == std::string::npos || colon == 0) return;
  std::string_view value = std::string_view{line_}.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  const std::string_view field = std::string_view{line_}.substr(0, colon);
  if (field == "event") event_ = value;
  if (field == "data") data_ += value;
}

bool join_service(std::string_view json, const Target& target, ReplicaTrack& track) {
  const Json answer = Json::parse(json, nullptr, false);
  const Json& services = list_in(answer);
  if (!services.is_array()) return false;
  const Json* service = find_service(services, target);
  if (service == nullptr || text_of(*service, "name").empty()) return false;
  track.join(text_of(*service, "name"));
  const auto replicas = service->find("replicas");
  if (replicas != service->end() && replicas->is_array()) {
    for (const Json& replica : *replicas) {
      if (!replica.is_object() || text_of(replica, "state") != "ready") continue;
      track.replica(Duration::zero(), text_of(replica, "id"), true);
    }
  }
  track.decision(Duration::zero(), text_of(*service, "mode") == "panic");
  return true;
}

namespace {

bool apply_to(ReplicaTrack& track, std::string_view event, const Json& body, Duration at) {
  if (event == "replica") {
    track.replica(at, text_of(body, "id"), text_of(body, "state") == "ready");
  } else if (event == "decision") {
    track.decision(at, text_of(body, "mode") == "panic");
  } else if (event == "cold_start") {
    const auto total = body.find("total_ms");
    if (total == body.end() || !total->is_number()) return false;
    track.cold_start(at, from_seconds(total->get<double>() / 1e3), text_of(body, "replica"));
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool apply_event(std::string_view event, std::string_view json, Duration at,
                 std::span<ReplicaTrack> tracks) {
  const Json body = parse_object(json);
  if (!body.is_object()) return false;
  const std::string service = text_of(body, "service");
  bool applied = false;
  for (ReplicaTrack& track : tracks) {
    if (!track.joined() || track.service() != service) continue;
    applied = apply_to(track, event, body, at) || applied;
  }
  return applied;
}

}  // namespace sluice::loadgen
