#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/address.h"
#include "common/settings/reader.h"

#include "memory-pressure/core/settings.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// What the command line selects.
enum class Task : std::uint8_t {
  run,
  restore,  ///< --restore: undo what the journal lists, then exit
  status,
  on,
  off,
  guard,  ///< for the agent itself: become its guardian
};

/// Settings of the node agent (memory-pressure.md 11.2; environment as in protocols.md 1 and 6).
struct Config {
  Task task = Task::run;
  bool json = false;  ///< with Task::status
  PolicySettings policy;
  std::string memory_source = "proc";
  std::string socket;  ///< path of the runtime's; empty: the usual ones are tried
  std::string state_dir = "/var/lib/sluice/node-agent";
  Duration lease = std::chrono::seconds{10};
  bool dry_run = false;
  std::string node;                       ///< NODE_NAME, else the host's name
  std::vector<std::string> autoscalers;   ///< SLUICE_AUTOSCALER_ADDRESS, separated by commas
  std::string tls_dir;                    ///< SLUICE_TLS_DIR
  std::string token_file;                 ///< SLUICE_TOKEN_FILE: enrols by it; or empty
  std::string enroll;                     ///< SLUICE_ENROLL_ADDRESS, host:port: where, then
  std::string ca_file;                    ///< SLUICE_CA_FILE: the autoscaler's CAs, then
  std::string nri = "/run/nri/nri.sock";  ///< SLUICE_NRI_SOCKET; empty: not used
  std::optional<net::Address> metrics;    ///< SLUICE_METRICS_ADDRESS, :9090; absent: set, but empty
  log::Severity log_least = log::Severity::info;  ///< SLUICE_LOG_LEVEL
  int ready_fd = -1;                              ///< --ready-fd, SLUICE_READY_FD
};

/// What to print instead of working, and the exit code: 0 for help, 2 for a wrong flag, 78 for a
/// wrong setting.
struct Usage {
  int exit_code = 0;
  std::string text;
};

/// Reads flags and environment. The first wrong value is named with what it should be.
[[nodiscard]] Result<Config, Usage> read_config(int argc, const char* const* argv,
                                                const settings::Environment& environment);

}  // namespace sluice::node_agent
