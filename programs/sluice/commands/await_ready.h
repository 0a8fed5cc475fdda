#pragma once

#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include "programs/sluice/commands/verb.h"
#include <set>
#include <string>

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

struct AwaitRules {
  Duration patience = std::chrono::minutes{1};
  std::set<std::string> services = {};  ///< only these; empty: all of the engine
  bool progress = false;                ///< a line to the errors for each change, once a second
  bool count = true;                    ///< a line to the output at the end: how many are ready
};

/// Waits until each service that is to run is ready or has failed, at most `patience`, and prints
/// which are not, with their cause. Returns the exit status: 3 when one does not become ready.
[[nodiscard]] int await_ready(const Surroundings& with, const ApiPlace& engine,
                              const AwaitRules& rules);

}  // namespace sluice::commands
