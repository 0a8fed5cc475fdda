#pragma once

#include "common/kube/object_name.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::kube {

/// One line of a watch. The views are of the line.
struct WatchEvent {
  enum class Type : std::uint8_t { put, gone, bookmark, error, unknown };

  Type type = Type::unknown;
  std::string_view object;
};

/// Absent: it is no event.
[[nodiscard]] std::optional<WatchEvent> read_watch_event(std::string_view line);

/// What a reflector reads of an object before it hands it on.
struct ObjectFacts {
  ObjectName name;
  std::string resource_version;
  bool initial_events_end = false;  ///< of a bookmark: a streaming list is complete
};

/// Absent: it is no object. A bookmark has no name.
[[nodiscard]] std::optional<ObjectFacts> read_object_facts(std::string_view object);

/// One chunk of a list.
struct ListChunk {
  std::string resource_version;
  std::string next;        ///< token of the chunk that follows; empty: this was the last
  std::string_view items;  ///< the array as written, to be walked; "[]" when there is none
};

/// Absent: it is no list. The view is of `body`.
[[nodiscard]] std::optional<ListChunk> read_list_chunk(std::string_view body);

}  // namespace sluice::kube
