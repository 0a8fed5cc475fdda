#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sluice {

/// `value` as JSON on one line, as it is sent, stored and logged. Bytes that are no UTF-8 become
/// U+FFFD, so that no text of another program makes a document unreadable.
[[nodiscard]] std::string json_line(const nlohmann::json& value);
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& value);

}  // namespace sluice
