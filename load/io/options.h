#pragma once

#include "common/base/result.h"

#include "load/core/load_plan.h"
#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// What the command line of `sluice load` asks for.
struct Options {
  LoadPlan plan;
  bool ids = false;       ///< number the requests
  std::string json_file;  ///< empty: none; `-`: standard output
  bool json_output = false;
};

/// A text to print instead of running: help.
struct Help {
  std::string text;
};

struct Parsed {
  Options options;
  std::optional<Help> help;  ///< set: print this, exit 0
};

/// Reads the arguments after `sluice load` (one-machine.md 9). Opens a file only for `--body
/// @FILE`.
[[nodiscard]] Result<Parsed, Problem> parse_options(std::vector<std::string> arguments);

}  // namespace sluice::loadgen
