#pragma once

#include "programs/sluice/commands/up_options.h"
#include "programs/sluice/commands/verb.h"

namespace sluice::commands {

/// An `up` beside an engine that runs: adds the service of its command, or the services of its
/// files, prints what happens to them, and takes them along when it ends (one-machine.md 1). With
/// `detach` they stay, and it returns when those that start at once are ready (await_ready).
/// Returns the exit code, or kNameHeld when the engine has begun to end.
[[nodiscard]] int run_session(const Surroundings& with, const UpOptions& options,
                              const ApiPlace& engine);

}  // namespace sluice::commands
