#pragma once

#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include "programs/sluice/commands/verb.h"
#include <string>
#include <vector>

namespace sluice::commands {

/// What a status object shows of a start.
enum class Readiness {
  asleep,   ///< nothing of it is to run
  ready,    ///< its newest revision has a replica that is ready
  waiting,  ///< it may become ready
  failed    ///< it does not, unless something is changed
};

/// `waited`: how long its start is waited for. A program that listens elsewhere has ten seconds.
[[nodiscard]] Readiness readiness_of(const nlohmann::json& status, Duration waited);

/// `service app is not ready: it ended with exit code 3`, with where its output is.
[[nodiscard]] std::string not_ready_text(const nlohmann::json& status);

/// Waits until each service of the engine that is to run is ready or has failed, at most
/// `patience`. Prints which are not, and returns kExitNotReady when there are some to run and none
/// of them is ready.
[[nodiscard]] int await_ready(const Surroundings& with, const ApiPlace& engine, Duration patience);

}  // namespace sluice::commands
