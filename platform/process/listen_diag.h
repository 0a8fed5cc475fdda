#pragma once

#include <cstdint>
#include <functional>

namespace sluice::local {

/// A TCP socket that listens.
struct ListenSocket {
  std::uint64_t inode = 0;
  std::uint16_t port = 0;
  bool reaches_loopback = false;  ///< a connection to 127.0.0.1 reaches it
  bool on_loopback_only = false;  ///< none from elsewhere does; unset where it is not asked for
};

/// Calls `visit` with each of this network, asked of the kernel directly: its text tables list
/// every connection of the machine and take milliseconds. False when the kernel does not answer.
[[nodiscard]] bool for_each_listen_socket(const std::function<void(const ListenSocket&)>& visit);

}  // namespace sluice::local
