#pragma once

#include "common/base/result.h"

#include "load/core/load_plan.h"
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

inline constexpr std::size_t kScenarioBytesMax = 1U << 20U;

/// What is wrong with a scenario.
struct ScenarioProblems {
  std::vector<Problem> problems;  ///< 1 to 20, in the order of their lines
  bool unknown_figure = false;    ///< nothing but assertions on figures that do not exist
};

/// Gives the bytes of a body from the file of this path.
using BodyReader = std::function<Result<std::string, Problem>(const std::string& path)>;

/// Reads the text of a scenario (load/README.md), which is called `name`. Files that it names are
/// looked for in `folder`, if their path is relative. What a replay has is not known yet.
[[nodiscard]] Result<LoadPlan, ScenarioProblems> parse_scenario(std::string_view text,
                                                                const std::string& name,
                                                                const std::string& folder,
                                                                const BodyReader& read_body);

/// Reads a scenario and the bodies that it names.
[[nodiscard]] Result<LoadPlan, ScenarioProblems> read_scenario_file(const std::string& path);

}  // namespace sluice::loadgen
