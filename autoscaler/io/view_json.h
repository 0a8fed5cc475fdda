#pragma once

#include "autoscaler/core/view/fleet_rows.h"
#include "autoscaler/core/view/series.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <span>
#include <string>

// Rows and series as text, written number by number: there are many of them, each second.
namespace sluice::autoscaler {

/// Whether a failing service is shown with the reason, which is for the engine's own user.
enum class Reasons : bool { hidden, shown };

/// Appends the object of a row (protocols.md 5). `points` may be empty: the row has none then.
void write_row(std::string& out, const FleetRow& row, Reasons reasons,
               std::span<const float> points = {});

/// What write_row() has written, or the same members of a status; nothing: it is neither. In panic
/// it is so since the beginning of time.
[[nodiscard]] std::optional<FleetRow> read_row(const nlohmann::json& row);

/// Appends a row of a series, an array.
void write_point(std::string& out, const SeriesPoint& point);

/// The array of the names of its columns.
[[nodiscard]] std::string point_columns();

/// Appends an array; NaN is null.
void write_numbers(std::string& out, std::span<const float> numbers);

/// A quoted JSON string.
[[nodiscard]] std::string quoted(const std::string& text);

/// The counts of services by state and trouble.
[[nodiscard]] nlohmann::json tiles_json(const FleetTiles& tiles);

}  // namespace sluice::autoscaler
