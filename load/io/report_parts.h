#pragma once

#include <nlohmann/json_fwd.hpp>

#include "load/core/report.h"
#include <string>

namespace sluice::loadgen {

/// Milliseconds of a report, to the microsecond.
[[nodiscard]] double ms(Duration duration);
/// Seconds of a report, to the microsecond.
[[nodiscard]] double s(Duration duration);

/// Min, mean, max and percentiles in milliseconds; null when nothing was counted.
[[nodiscard]] nlohmann::ordered_json percentiles(const Histogram& times);

/// `seconds` of the report: a row for each second and target.
[[nodiscard]] nlohmann::ordered_json seconds_json(const Report& report);

/// `scaling` of the report; null when no engine was watched.
[[nodiscard]] nlohmann::ordered_json scaling_json(const Report& report);

/// `marks` of the report: what happened to the generator.
[[nodiscard]] nlohmann::ordered_json marks_json(const Report& report);

/// The report as text: a line for each member, and of a list one for each element.
[[nodiscard]] std::string readable(const nlohmann::ordered_json& report);

}  // namespace sluice::loadgen
