#include "programs/sluice/commands/engine_socket.h"

#include "platform/process/paths.h"
#include <unistd.h>

namespace sluice::commands {

Result<std::string, Problem> engine_socket(const std::string& name) {
  const auto roots = local::path_roots(local::process_env, ::getuid());
  if (!roots) return roots.error();
  std::string others;
  for (const local::RunningEngine& engine : local::running_engines(roots->runtime)) {
    if (engine.name == name) {
      // Said outright: a string would also do for a Problem.
      return Result<std::string, Problem>{boost::system::in_place_value,
                                          engine.api_socket.string()};
    }
    others += (others.empty() ? "" : ", ") + engine.name;
  }
  return Problem{"no engine named " + name + " is running",
                 others.empty() ? "start one: sluice up -- COMMAND" : "running: " + others};
}

}  // namespace sluice::commands
