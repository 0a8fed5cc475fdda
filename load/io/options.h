#pragma once

#include "common/base/result.h"

#include "load/core/load_plan.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::loadgen {

/// The options of `sluice load`.
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

/// Shows the flags that parse_options takes.
void show_flags(const std::function<void(const CLI::App&)>& see);

}  // namespace sluice::loadgen
