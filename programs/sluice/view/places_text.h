#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sluice::view {

/// `sluice places`: an array of places (protocols.md 5) as a table, the most liked first.
[[nodiscard]] std::string places_text(const nlohmann::json& places);

/// The places of a decision: `fast 3, slow 2`; empty: there is one place only.
[[nodiscard]] std::string shares_text(const nlohmann::json& decision);

}  // namespace sluice::view
