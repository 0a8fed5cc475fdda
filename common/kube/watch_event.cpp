#include "common/kube/watch_event.h"

#include "common/values/json_walk.h"

namespace sluice::kube {
namespace {

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

WatchEvent::Type type_of(std::string_view name) {
  if (name == "ADDED" || name == "MODIFIED") return WatchEvent::Type::put;
  if (name == "DELETED") return WatchEvent::Type::gone;
  if (name == "BOOKMARK") return WatchEvent::Type::bookmark;
  if (name == "ERROR") return WatchEvent::Type::error;
  return WatchEvent::Type::unknown;
}

}  // namespace

std::optional<WatchEvent> read_watch_event(std::string_view line) {
  std::string_view type;
  WatchEvent event;
  JsonWalk walk{line};
  while (const auto step = walk.next()) {
    if (step->key == "type") type = plain_string(step->value);
    if (step->key == "object") event.object = step->value;
  }
  if (!walk.whole() || type.empty() || !event.object.starts_with('{')) return std::nullopt;
  event.type = type_of(type);
  return event;
}

std::optional<ObjectFacts> read_object_facts(std::string_view object) {
  const auto metadata = json_member(object, "metadata");
  if (!metadata) return std::nullopt;
  ObjectFacts facts;
  JsonWalk walk{*metadata};
  while (const auto step = walk.next()) {
    if (step->key == "name") facts.name.name = plain_string(step->value);
    if (step->key == "namespace") facts.name.space = plain_string(step->value);
    if (step->key == "resourceVersion") facts.resource_version = plain_string(step->value);
    if (step->key == "annotations" && step->value.starts_with('{')) {
      const auto end = json_member(step->value, kInitialEventsEnd);
      facts.initial_events_end = end && plain_string(*end) == "true";
    }
  }
  if (!walk.whole()) return std::nullopt;
  return facts;
}

std::optional<ListChunk> read_list_chunk(std::string_view body) {
  ListChunk chunk;
  chunk.items = "[]";
  bool listed = false;
  JsonWalk walk{body};
  while (const auto step = walk.next()) {
    if (step->key == "metadata" && step->value.starts_with('{')) {
      JsonWalk metadata{step->value};
      while (const auto field = metadata.next()) {
        if (field->key == "resourceVersion") chunk.resource_version = plain_string(field->value);
        if (field->key == "continue") chunk.next = plain_string(field->value);
      }
    }
    if (step->key == "items") {
      listed = step->value.starts_with('[') || step->value == "null";
      if (step->value != "null") chunk.items = step->value;
    }
  }
  if (!walk.whole() || !listed || chunk.resource_version.empty()) return std::nullopt;
  return chunk;
}

}  // namespace sluice::kube
