#include "load/io/engine_events.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

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

namespace {

// False: it has no name.
bool join(const Json& service, ReplicaTrack& track) {
  if (text_of(service, "name").empty()) return false;
  track.join(text_of(service, "name"), text_of(service, "namespace"));
  const auto replicas = service.find("replicas");
  if (replicas != service.end() && replicas->is_array()) {
    for (const Json& replica : *replicas) {
      if (!replica.is_object() || text_of(replica, "state") != "ready") continue;
      track.replica(Duration::zero(), text_of(replica, "id"), true);
    }
  }
  track.decision(Duration::zero(), text_of(service, "mode") == "panic");
  return true;
}

}  // namespace

bool join_service(std::string_view json, const Target& target, ReplicaTrack& track) {
  const Json answer = Json::parse(json, nullptr, false);
  const Json& services = list_in(answer);
  if (!services.is_array()) return false;
  const Json* service = find_service(services, target);
  return service != nullptr && join(*service, track);
}

bool join_status(std::string_view json, ReplicaTrack& track) {
  const Json service = parse_object(json);
  return service.is_object() && join(service, track);
}

namespace {

std::optional<double> number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// The figures that an object of the engine has; others stay as they were.
void set_figures(ReplicaTrack& track, const Json& body, Duration at,
                 std::initializer_list<Scaling> figures) {
  for (const Scaling figure : figures) {
    const auto name = kScalingNames.at(static_cast<std::size_t>(figure));
    const auto value = number_of(body, std::string{name}.c_str());
    if (value) track.set(at, figure, *value);
  }
}

void apply_decision(ReplicaTrack& track, const Json& body, Duration at) {
  track.decision(at, text_of(body, "mode") == "panic");
  set_figures(track, body, at, {Scaling::stable, Scaling::panic, Scaling::target});
  const auto desired = number_of(body, "desired");
  if (desired) track.desire(at, *desired, text_of(body, "why"));
}

bool apply_cold_start(ReplicaTrack& track, const Json& body, Duration at) {
  const auto total = number_of(body, "total_ms");
  if (!total) return false;
  std::vector<std::pair<std::string, double>> phases;
  const auto found = body.find("phases_ms");
  for (const char* const name : {"queue", "decide", "create", "start", "ready", "first_byte"}) {
    if (found == body.end() || !found->is_object()) break;
    const auto took = number_of(*found, name);
    if (took) phases.emplace_back(name, *took);
  }
  track.cold_start(at, from_seconds(*total / 1e3), text_of(body, "replica"), std::move(phases));
  return true;
}

bool apply_to(ReplicaTrack& track, std::string_view event, const Json& body, Duration at) {
  if (event == "replica") {
    const std::string state = text_of(body, "state");
    track.replicas_are_told();
    track.replica(at, text_of(body, "id"), state == "ready");
    track.drain(at, text_of(body, "id"), state == "draining");
  } else if (event == "decision") {
    apply_decision(track, body, at);
  } else if (event == "cold_start") {
    return apply_cold_start(track, body, at);
  } else {
    return false;
  }
  return true;
}

// Rows of services as of the last second.
bool apply_fleet(const Json& body, Duration at, std::span<ReplicaTrack> tracks) {
  const auto rows = body.find("rows");
  if (rows == body.end() || !rows->is_array()) return false;
  bool applied = false;
  for (const Json& row : *rows) {
    if (!row.is_object()) continue;
    const std::string service = text_of(row, "name");
    const std::string space = text_of(row, "namespace");
    for (ReplicaTrack& track : tracks) {
      if (!track.joined() || !track.is_of(service, space)) continue;
      set_figures(
          track, row, at,
          {Scaling::starting, Scaling::stable, Scaling::panic, Scaling::target, Scaling::queued});
      // An autoscaler has no events of replicas.
      const auto ready = number_of(row, "ready");
      if (ready && *ready >= 0) track.counted(at, static_cast<std::size_t>(*ready));
      const auto want = number_of(row, "want");
      // Later it is what decisions say, which come at once.
      if (want && std::isnan(track.scaling().now(Scaling::desired))) {
        track.set(at, Scaling::desired, *want);
      }
      applied = true;
    }
  }
  return applied;
}

}  // namespace

bool apply_event(std::string_view event, std::string_view json, Duration at,
                 std::span<ReplicaTrack> tracks) {
  const Json body = parse_object(json);
  if (!body.is_object()) return false;
  if (event == "fleet") return apply_fleet(body, at, tracks);
  const std::string service = text_of(body, "service");
  const std::string space = text_of(body, "namespace");
  bool applied = false;
  for (ReplicaTrack& track : tracks) {
    if (!track.joined() || !track.is_of(service, space)) continue;
    applied = apply_to(track, event, body, at) || applied;
  }
  return applied;
}

}  // namespace sluice::loadgen
