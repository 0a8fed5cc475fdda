#pragma once

#include "load/core/report.h"
#include <string>
#include <vector>

namespace sluice::loadgen {

/// A row for each second and target, with a line of names before them, as CSV.
[[nodiscard]] std::string report_csv(const Report& report);

/// A suite with a case for each condition, as JUnit's XML; what failed says what the text report
/// says. `started_at` is RFC 3339.
[[nodiscard]] std::string report_junit(const Report& report, const std::vector<Verdict>& verdicts,
                                       const std::string& started_at);

/// The verdicts and the main figures for a pull request, as Markdown of at most 4 KiB.
[[nodiscard]] std::string report_markdown(const Report& report,
                                          const std::vector<Verdict>& verdicts);

/// `p99 < 250ms: 297.0 ms`, as every report says it.
[[nodiscard]] std::string sentence_of(const Verdict& verdict);

}  // namespace sluice::loadgen
