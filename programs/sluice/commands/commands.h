#pragma once

#include "programs/sluice/commands/up_options.h"
#include "programs/sluice/commands/verb.h"
#include <functional>
#include <string>
#include <vector>

namespace sluice::commands {

/// Runs an engine until it ends; returns the exit code.
using UpRunner = std::function<int(const UpOptions&)>;

/// `sluice load`, which is not of this room.
struct LoadVerb {
  std::function<int(std::vector<std::string>)> run;  ///< with the arguments after `load`
  std::function<void(const FlagSink&)> show_flags;
  ForeignFlag foreign_flag;
  std::function<void(const FlagSink&)> show_compare_flags;  ///< of `load compare`
};

/// The command line of `sluice`: chooses the verb, runs it, returns the exit code of
/// ecosystem.md 3.5. Exceptions do not leave it.
[[nodiscard]] int run(int argc, char** argv, const UpRunner& up, const LoadVerb& load);

}  // namespace sluice::commands
