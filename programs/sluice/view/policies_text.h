#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sluice::view {

/// What the policies of a file would choose now, of the answer of POST /placement/check.
[[nodiscard]] std::string policies_text(const nlohmann::json& policies);

}  // namespace sluice::view
