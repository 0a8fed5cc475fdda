#pragma once

#include "load/io/engine_choice.h"
#include <string>
#include <vector>

namespace sluice::loadgen {

/// `sluice load`: carries out the load that `args`, all after the verb, ask for, and prints the
/// report. Returns the exit status (ecosystem.md 3.5): 0; 1 when a report could not be written, a
/// figure does not exist or is not known, or a trace could not be read to its end; 2 for a wrong
/// flag or trace; 4 when a --fail-if is true or an assertion is not; 69 when no application
/// answered at all, or an engine
/// that was asked for did not; 78 for a wrong scenario; 130 after a second interrupt. Owns the
/// process's SIGINT and SIGTERM meanwhile. Without `find_engine` no engine has a name.
[[nodiscard]] int run_load(std::vector<std::string> args, const EngineFinder& find_engine = {});

}  // namespace sluice::loadgen
