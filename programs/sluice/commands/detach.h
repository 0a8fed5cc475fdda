#pragma once

#include "programs/sluice/commands/commands.h"
#include "programs/sluice/commands/verb.h"

namespace sluice::commands {

/// `up --detach`: forks before anything has started a thread. The child becomes a session of its
/// own with its output in engine.log and runs `up`; the parent waits until the child has announced
/// itself (announce_ready), prints the banner and, to the errors, the warnings, and then until the
/// services that start at once are ready (await_ready). If the child ends instead, prints what it
/// left in the log and returns its exit code; without a word kNameHeld. Returns in both processes.
[[nodiscard]] int run_detached(const Surroundings& with, UpOptions options, const UpRunner& up);

}  // namespace sluice::commands
