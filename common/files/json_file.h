#pragma once

#include "common/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string_view>

namespace sluice::files {

/// Parses what a person or a platform wrote into a file of protocols.md 9: one JSON value of at
/// most 16 levels. A problem has the place where it ends to be one.
[[nodiscard]] std::optional<Problem> parse_file(std::string_view text, nlohmann::json& document);

}  // namespace sluice::files
