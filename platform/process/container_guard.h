#pragma once

#include "common/base/result.h"

#include "platform/process/child.h"
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// The word by which this program runs as the guard, before the note and a descriptor.
inline constexpr std::string_view kContainerGuard = "container-guard";

/// Keeps a process beside the engine that removes its containers when it has ended in whatever way,
/// since those run on without it. It waits at a pipe that closes with the engine, and holds nothing
/// else of it.
class ContainerGuard {
 public:
  /// `reaper` outlives this.
  explicit ContainerGuard(Reaper& reaper) : reaper_{reaper} {}

  /// Starts the process unless it runs. `note` is there; what removes runs with `environment`.
  [[nodiscard]] std::optional<Problem> start(const std::filesystem::path& note,
                                             const std::vector<std::string>& environment);

 private:
  Reaper& reaper_;
  UniqueFd engine_end_;  // closed: there is no process
};

/// The process: waits until `descriptor`, the number of its end of the pipe, says that the engine
/// has ended, and removes what `note` notes. Returns the exit code.
[[nodiscard]] int run_container_guard(const char* note, std::string_view descriptor);

}  // namespace sluice::local
