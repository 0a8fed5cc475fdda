#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice::local {

/// A process that listens on a TCP port.
struct Listener {
  pid_t pid = -1;    ///< -1 when the process is not ours to see
  pid_t group = -1;  ///< its process group
  std::string name;  ///< short command name
};

/// The processes that listen on 127.0.0.1, 0.0.0.0 or [::] at `port`; may be empty.
[[nodiscard]] std::optional<Listener> who_listens(std::uint16_t port);

/// `port` is wanted, and `by` listens on it.
[[nodiscard]] Problem held_port(std::uint16_t port, const std::optional<Listener>& by);

/// Whether a process of `group` listens on `port` (same addresses).
[[nodiscard]] bool group_listens(pid_t group, std::uint16_t port);

/// Where a program listens.
struct Listening {
  bool begun = true;                 ///< false: a container whose program does not run yet
  std::vector<std::uint16_t> ports;  ///< on any address, ascending, at most 64
  bool reachable = false;            ///< on the port that was asked for, where it is asked
  std::int64_t cpu_ticks = 0;        ///< of processor time that its processes have used
};

/// Where `leader` and its descendants listen, and whether a connection to 127.0.0.1 at `port`
/// reaches one of them.
[[nodiscard]] Listening listening_of(pid_t leader, std::uint16_t port);

/// Where programs in the network of `pid` listen, and whether a connection from outside of it
/// reaches `port`: for a container, which has a network of its own.
[[nodiscard]] Listening listening_in_network_of(pid_t pid, std::uint16_t port);

/// The processes of `group`, ascending, at most 4096.
[[nodiscard]] std::vector<pid_t> processes_of_group(pid_t group);

/// Memory held by the processes of `group` (sum of resident sizes), in bytes.
[[nodiscard]] std::int64_t resident_bytes_of_group(pid_t group);

}  // namespace sluice::local
