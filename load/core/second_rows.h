#pragma once

#include "load/core/report.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// What reports show of one second and target.
struct SecondRow {
  Duration at{0};
  Duration length{0};  ///< 1 s, or of a very long run more
  std::string target;
  std::string phase;
  std::optional<double> rate_planned;  ///< per second; nothing in a closed loop
  std::uint64_t in_flight = 0;         ///< at its end
  std::optional<Duration> p50;
  std::optional<Duration> p99;
  std::optional<Duration> max;     ///< exact, as those above nothing without an answer
  const Second* counts = nullptr;  ///< of the report
};

/// The rows in the order of time, and then of targets. They borrow from `report`.
[[nodiscard]] std::vector<SecondRow> second_rows(const Report& report);

}  // namespace sluice::loadgen
