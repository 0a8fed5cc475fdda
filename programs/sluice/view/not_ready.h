#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::view {

/// What people read for the state `given_up` of a revision.
inline constexpr std::string_view kDidNotStart = "did not start";

/// Of the revisions that "serving" of an object lists: `app-00001 serves`, `app-00001 and app-00003
/// serve`; empty: none.
[[nodiscard]] std::string serving_text(const nlohmann::json& object);

/// A line for each revision of "not_ready" of a status object or of an explanation:
/// `app-00002 does not start: it ended with exit code 3; app-00001 serves`.
[[nodiscard]] std::vector<std::string> not_ready_lines(const nlohmann::json& service);

/// Why a service has its replicas, in a column: why one of its revisions is not ready, else the
/// last decision's why.
[[nodiscard]] std::string why_text(const nlohmann::json& service);

}  // namespace sluice::view
