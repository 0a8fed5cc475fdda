#pragma once

#include "common/base/exit_status.h"
#include "common/base/result.h"

#include "load/core/engine_source.h"
#include "load/core/load_plan.h"
#include "load/io/report_files.h"
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::loadgen {

/// The options of `sluice load`.
struct Options {
  LoadPlan plan;
  bool ids = false;                 ///< number the requests
  std::vector<ReportFile> reports;  ///< beside the text
  EngineSource engine;              ///< where replicas and decisions come from
  bool json_output = false;
  bool check = false;  ///< only say what the plan is
};

/// What is wrong with a command line, and how the program ends for it.
struct Refusal : Problem {
  std::vector<Problem> others = {};  ///< of a scenario, which can have several
  int status = kExitUsage;  ///< kExitFailure: a figure that does not exist; kExitConfig: a scenario
};

/// Reads the arguments after `sluice load` (one-machine.md 9). Opens files only for `--body @FILE`
/// and `--file`; what a replay has is not known yet. Flags of hey, wrk and fortio that mean
/// something else there are refused with the flag of ours.
[[nodiscard]] Result<Options, Refusal> parse_options(std::vector<std::string> arguments);

/// Shows the flags that parse_options takes, for help and for what is wrong with them.
void show_flags(const std::function<void(CLI::App&)>& see);

}  // namespace sluice::loadgen
