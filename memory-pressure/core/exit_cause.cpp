#include "memory-pressure/core/exit_cause.h"

namespace sluice::node_agent {
namespace {

constexpr std::int32_t kKilledCode = 137;  // 128 + SIGKILL

}  // namespace

ExitCause exit_cause(const Ending& ending) {
  if (!ending.exited) return ExitCause::none;
  if (ending.stopped_by_us) return ExitCause::sacrificed;
  if (ending.exit_code == 0) return ExitCause::completed;
  if (ending.exit_code != kKilledCode) return ExitCause::failed;
  return ending.reason == "OOMKilled" ? ExitCause::oom_killed : ExitCause::killed;
}

}  // namespace sluice::node_agent
