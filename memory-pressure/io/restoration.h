#pragma once

#include "common/log/log.h"
#include "common/time/time_point.h"

#include "memory-pressure/io/journal_file.h"
#include <optional>
#include <string>
#include <vector>

namespace sluice::node_agent {

struct RestorationOptions {
  std::string state_dir;
  std::vector<std::string> sockets;  ///< of runtimes, as for CriClient
  std::string memory_source;         ///< as MemorySense::open; unreadable: taken for full
  double lower = 0;                  ///< share of memory above which frozen ones run on one by one
  Duration limit = std::chrono::seconds{10};
  bool keep_trying = false;  ///< begin again when the limit has passed: the guardian's way
  bool strays = true;        ///< as ControlLoop::Options
};

/// Thaws the containers that the journal lists as frozen, which needs no runtime; then gives back
/// everything that it lists, and what bears a quota of ours without a record if
/// requested, then empties the journal. The caller holds the state directory's lock, or `shared`
/// says that another process has it. Returns when all is done, or was given up: then with the
/// problem.
[[nodiscard]] std::optional<Problem> restore_everything(const RestorationOptions& options,
                                                        const log::Logger& log, bool shared);

/// `node-agent --restore`: takes the lock and restores. Returns the exit code.
[[nodiscard]] int restore_once(const RestorationOptions& options, const log::Logger& log);

/// `node-agent guard`: watches the agent at the other end of kGuardLine, and gives back what the
/// journal lists when it is gone. Returns the exit code.
[[nodiscard]] int keep_guard(RestorationOptions options, Duration lease, const log::Logger& log);

}  // namespace sluice::node_agent
