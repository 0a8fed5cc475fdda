#pragma once

#include "load/core/report.h"
#include <string>
#include <vector>

namespace sluice::loadgen {

/// Where and when a run was made, to compare two of them.
struct Circumstances {
  std::string started_at;  ///< RFC 3339
  std::string command;
  std::string host;
  std::string kernel;
  std::string cpu;
  unsigned cpus = 0;
};

/// The report for programs: one JSON object, described in load/README.md. Fields are only
/// ever added. Times are in the unit their name ends in.
/// `compare` is that of a run with a baseline, as text (comparison_json).
[[nodiscard]] std::string report_json(const Report& report, const std::vector<Verdict>& verdicts,
                                      const Circumstances& circumstances,
                                      const std::string& compare = "null");

}  // namespace sluice::loadgen
