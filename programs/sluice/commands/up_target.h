#pragma once

#include "common/base/result.h"

#include "programs/sluice/commands/up_options.h"
#include "programs/sluice/commands/verb.h"
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::commands {

/// An engine ends within its own time to drain and that of its services.
inline constexpr Duration kEngineEnds = std::chrono::seconds{90};

/// The engine that an `up` starts, or adds to when its name is among `running` (one-machine.md 1):
/// --engine; the one called --name when it runs or has run; the only one that runs; else the one
/// called as the service. `has_state`: whether an engine of that name has run.
[[nodiscard]] Result<std::string, Failure> choose_engine(
    const UpOptions& options, const std::vector<std::string>& running,
    const std::function<bool(const std::string&)>& has_state);

/// Where an `up` goes.
struct UpTarget {
  std::string engine;
  std::optional<ApiPlace> running = {};  ///< absent: it is to be started
};

/// Chooses the engine, and waits for one that starts or ends, at most kEngineEnds. What to resume
/// is there. An init system that waits for this very process gets an engine of its own.
[[nodiscard]] Result<UpTarget, Failure> find_up_target(const Surroundings& with,
                                                       const UpOptions& options);

/// Waits until the engine whose pid is `holder` (name_holder) holds the name no more, at most
/// `patience`. False: it still does.
[[nodiscard]] bool wait_until_released(const Surroundings& with, const std::string& engine,
                                       const std::string& holder, Duration patience);

/// A DNS label for a service that runs `program`: `server-py` for `./Server.py`.
[[nodiscard]] std::string label_of(std::string_view program);

}  // namespace sluice::commands
