#pragma once

#include "common/json/read.h"
#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"

#include <string>
#include <string_view>
#include <vector>

// What the decode functions read of documents of an API server, beside common/json/read.h. For
// sources only, since it brings the JSON library along.
namespace sluice::kube {

/// Parses one object of the API into `document`, without its managedFields. False: it is no JSON
/// object with metadata.name, nests deeper than 64 levels, or is larger than 8 MiB.
[[nodiscard]] bool parse_object(std::string_view text, nlohmann::json& document);

/// The same for a document that need not be an object of the API.
[[nodiscard]] bool parse_document(std::string_view text, nlohmann::json& document);

/// Of a port; TCP unless it is another.
[[nodiscard]] std::string protocol(const nlohmann::json& port);

/// The owner that is the controller, else nothing.
[[nodiscard]] OwnerReference controller_of(const nlohmann::json& metadata);

/// Whether metadata.deletionTimestamp is set.
[[nodiscard]] bool is_terminating(const nlohmann::json& metadata);

/// Whether an init container starts before the others and stays.
[[nodiscard]] bool is_native_sidecar(const nlohmann::json& init_container);

/// A LabelSelector.
[[nodiscard]] Selector selector(const nlohmann::json& value);

/// The condition of that type among status.conditions; null when there is none.
[[nodiscard]] const nlohmann::json& condition(const nlohmann::json& status, std::string_view type);

/// All of status.conditions.
[[nodiscard]] std::vector<Condition> conditions(const nlohmann::json& status);

}  // namespace sluice::kube
