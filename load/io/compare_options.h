#pragma once

#include "common/base/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::loadgen {

inline constexpr double kTolerance = 0.1;

/// The options of `sluice load compare`.
struct CompareOptions {
  std::vector<std::string> files;  ///< the baseline, then at least one more, at most 100 in all
  double tolerance = kTolerance;   ///< 0.1 is 10 %
  bool anyway = false;             ///< whatever was planned
  std::string output = "text";     ///< text, json or markdown
};

/// Reads the arguments after `sluice load compare`.
[[nodiscard]] Result<CompareOptions, Problem> parse_compare_options(
    std::vector<std::string> arguments);

/// A part of a whole, `10%` or `0.1`, from 0 to 10. The problem begins with `name`.
[[nodiscard]] Result<double, Problem> parse_tolerance(std::string_view text,
                                                      const std::string& name);

/// Shows the flags that parse_compare_options takes, for help.
void show_compare_flags(const std::function<void(CLI::App&)>& see);

}  // namespace sluice::loadgen
