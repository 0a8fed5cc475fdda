#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace sluice::view {

/// Rows under a header, columns two spaces apart, no space at the end of a line.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

/// `sluice get`: an array of status objects (protocols.md 5); `wide` adds figures and replicas.
[[nodiscard]] std::string get_text(const nlohmann::json& services, bool wide);

/// `sluice top`: one line per service. A panic is shown with its age.
[[nodiscard]] std::string top_text(const nlohmann::json& services);

/// `sluice history`: an array of decisions, one line each.
[[nodiscard]] std::string history_text(const nlohmann::json& decisions);

}  // namespace sluice::view
