#pragma once

#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// How the decode functions read documents that an API server sends: what is absent or of another
// type reads as nothing. For sources only, since it brings the JSON library along.
namespace sluice::kube::reading {

using nlohmann::json;

/// Parses one object of the API into `document`, without its managedFields. False: it is no JSON
/// object with metadata.name, nests deeper than 64 levels, or is larger than 8 MiB.
[[nodiscard]] bool parse_object(std::string_view text, json& document);

/// The same for a document that need not be an object of the API.
[[nodiscard]] bool parse_document(std::string_view text, json& document);

/// The member of that name; null when there is none, or `object` is no object.
[[nodiscard]] const json& member(const json& object, const char* key);

/// Empty unless it is a string.
[[nodiscard]] std::string text(const json& object, const char* key);

/// `otherwise` unless it is a whole number.
[[nodiscard]] std::int64_t integer(const json& object, const char* key, std::int64_t otherwise);

/// The same, brought into the range of 32 bits.
[[nodiscard]] std::int32_t integer32(const json& object, const char* key, std::int32_t otherwise);

/// 0 unless it is a port.
[[nodiscard]] std::uint16_t port(const json& object, const char* key);

/// Of a port; TCP unless it is another.
[[nodiscard]] std::string protocol(const json& port);

[[nodiscard]] bool flag(const json& object, const char* key, bool otherwise = false);

/// The array of that name; an empty one when there is none.
[[nodiscard]] const json& array(const json& object, const char* key);

/// The members whose values are strings.
[[nodiscard]] StringMap string_map(const json& object, const char* key);

/// The items that are strings.
[[nodiscard]] std::vector<std::string> strings(const json& object, const char* key);

/// The owner that is the controller, else nothing.
[[nodiscard]] OwnerReference controller_of(const json& metadata);

/// Whether metadata.deletionTimestamp is set.
[[nodiscard]] bool is_terminating(const json& metadata);

/// A LabelSelector.
[[nodiscard]] Selector selector(const json& value);

/// The condition of that type among status.conditions; null when there is none.
[[nodiscard]] const json& condition(const json& status, std::string_view type);

/// All of status.conditions.
[[nodiscard]] std::vector<Condition> conditions(const json& status);

}  // namespace sluice::kube::reading
