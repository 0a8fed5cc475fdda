#pragma once

#include "programs/sluice/commands/up_options.h"
#include <functional>
#include <string>
#include <vector>

namespace sluice::commands {

/// Runs an engine until it ends; returns the exit code.
using UpRunner = std::function<int(const UpOptions&)>;

/// Runs `sluice load` with the arguments after `load`; its help is its own.
using LoadRunner = std::function<int(std::vector<std::string>)>;

/// The command line of `sluice`: chooses the verb, runs it, returns the exit code of
/// ecosystem.md 3.5. Exceptions do not leave it.
[[nodiscard]] int run(int argc, char** argv, const UpRunner& up, const LoadRunner& load);

}  // namespace sluice::commands
