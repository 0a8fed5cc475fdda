#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::node_agent {

/// How a container's life ended, as far as restarts are counted.
enum class ExitCause : std::uint8_t {
  none,        ///< it still runs, whatever reason is shown
  completed,   ///< code 0
  failed,      ///< of itself
  oom_killed,  ///< by the kernel, for memory
  sacrificed,  ///< by us, whatever code that left: 0, 143 or 137
  killed,      ///< SIGKILL of another process
};

/// A container's end as the runtime reports it.
struct Ending {
  bool exited = false;
  std::int32_t exit_code = 0;
  std::string_view reason;
  bool stopped_by_us = false;  ///< according to our journal
};

/// The reason alone proves nothing: with cgroup v1 an OOM kill in the parent marks every sibling
/// "OOMKilled", the living and those that end well later (memory-pressure.md 0.4; rows 51 to 53).
[[nodiscard]] ExitCause exit_cause(const Ending& ending);

}  // namespace sluice::node_agent
