#pragma once

#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace sluice::view {

/// Rows under a header, columns two spaces apart, no space at the end of a line.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

/// `sluice get`: an array of status objects (protocols.md 5); `wide` adds figures and replicas.
[[nodiscard]] std::string get_text(const nlohmann::json& services, bool wide);

/// `sluice revisions`: an array of revisions (protocols.md 5).
[[nodiscard]] std::string revisions_text(const nlohmann::json& revisions, TimePoint now);

/// The rows of `sluice top`: a head, and one per service. A panic is shown with its age.
[[nodiscard]] std::vector<std::vector<std::string>> top_rows(const nlohmann::json& services);

/// top_rows() as a table. Where `columns` are too few its less important columns are left out, and
/// a reason and a long name are cut.
[[nodiscard]] std::string top_text(std::vector<std::vector<std::string>> rows,
                                   std::size_t columns = std::string::npos);

/// `sluice history`: an array of decisions, one line each, and what gaps_text() makes of `gaps`.
[[nodiscard]] std::string history_text(const nlohmann::json& decisions, const nlohmann::json& gaps);

/// What was not kept of a history, one line for each `not_kept` of protocols.md 5.
[[nodiscard]] std::string gaps_text(const nlohmann::json& gaps);

}  // namespace sluice::view
