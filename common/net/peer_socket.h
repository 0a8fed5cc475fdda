#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <sys/socket.h>

namespace sluice::net {

/// The two ends of a connection, as this process sees them.
struct ConnectionEnds {
  sockaddr_storage local{};
  sockaddr_storage remote{};
};

/// The ends of a connected socket; nothing when it is not connected any more.
[[nodiscard]] std::optional<ConnectionEnds> ends_of(int descriptor);

/// The socket at the other end of a TCP connection within this machine, from the kernel.
struct PeerSocket {
  enum class Search : std::uint8_t {
    found,
    missing,  ///< the kernel has no such socket
    unknown,  ///< the kernel does not answer
  };

  Search search = Search::unknown;
  std::uint32_t user = 0;   ///< uid of the process that made it, in this process's user namespace
  std::uint64_t inode = 0;  ///< 0: no process holds it, and `user` is without meaning
  std::uint8_t state = 0;   ///< of TCP, as in /proc/net/tcp
};

/// Asks the kernel's socket table for exactly that connection, seen from its other end.
[[nodiscard]] PeerSocket find_peer(const ConnectionEnds& ends);

/// The same from the text of /proc/net/tcp (`v6` false) or /proc/net/tcp6. `missing` when no line
/// of it is that connection.
[[nodiscard]] PeerSocket find_peer_in(std::string_view table, const ConnectionEnds& ends, bool v6);

/// The uid of the process that opened the other end of a connection within this machine: of a TCP
/// connection as long as a process holds that end, of a Unix socket at any time. Nothing when the
/// kernel does not say, or when the uid may stand for several users: then it is to be taken for a
/// stranger's. Costs some microseconds; where the kernel has only its text table, milliseconds.
[[nodiscard]] std::optional<std::uint32_t> peer_user(int descriptor);

}  // namespace sluice::net
