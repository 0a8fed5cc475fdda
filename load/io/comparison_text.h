#pragma once

#include "load/core/comparison.h"
#include <string>
#include <vector>

namespace sluice::loadgen {

/// What it comes to, in one sentence: `worse than main.json: p99 +21.4 % (15.2 to 28.0 %)`.
[[nodiscard]] std::string sentence(const RunComparison& comparison, const ComparedRun& baseline);

/// For a person, ending in a newline.
[[nodiscard]] std::string comparison_text(const Comparisons& comparisons);

/// For a pull request, at most 4 KiB: with more, what is left out is said.
[[nodiscard]] std::string comparison_markdown(const Comparisons& comparisons);

/// For programs: one JSON object, described in load/README.md.
[[nodiscard]] std::string comparison_json(const Comparisons& comparisons);

}  // namespace sluice::loadgen
