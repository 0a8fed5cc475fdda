#pragma once

#include "common/base/result.h"

#include "load/core/load_plan.h"
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::loadgen {

/// The options of `sluice load compare`.
struct CompareOptions {
  std::vector<std::string> files;  ///< the baseline, then at least one more, at most 100 in all
  double tolerance = kTolerance;   ///< 0.1 is 10 %
  bool anyway = false;             ///< whatever was planned
  std::string output = "text";     ///< text, json or markdown
};

/// The part of the command line of `sluice load` that compares its run, as text.
struct BaselineFlags {
  std::string file;  ///< empty: there is none
  std::string tolerance;
};

/// Adds these flags to `app`, which puts what it reads into `flags`; that one outlives its parsing.
void declare(CLI::App& app, BaselineFlags& flags);

/// Puts them into `plan`, over what a scenario has.
[[nodiscard]] std::optional<Problem> read_baseline(const BaselineFlags& flags, LoadPlan& plan);

/// Reads the arguments after `sluice load compare`.
[[nodiscard]] Result<CompareOptions, Problem> parse_compare_options(
    std::vector<std::string> arguments);

/// A part of a whole, `10%` or `0.1`, from 0 to 10. The problem begins with `name`.
[[nodiscard]] Result<double, Problem> parse_tolerance(std::string_view text,
                                                      const std::string& name);

/// Shows the flags that parse_compare_options takes, for help.
void show_compare_flags(const std::function<void(CLI::App&)>& see);

}  // namespace sluice::loadgen
