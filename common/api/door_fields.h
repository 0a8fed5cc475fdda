#pragma once

#include <string_view>
#include <vector>

namespace sluice::api {

/// A header field of every answer of an API.
struct DoorField {
  std::string_view name;
  std::string_view value;
};

/// Those fields: an answer is no page of another site's, runs nothing and is not framed.
[[nodiscard]] const std::vector<DoorField>& door_fields();

/// The same as complete header lines, each with CRLF. A text of static lifetime.
[[nodiscard]] std::string_view door_lines();

}  // namespace sluice::api
