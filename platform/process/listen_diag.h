#pragma once

#include <cstdint>
#include <optional>
#include <set>

namespace sluice::local {

/// Inodes of the sockets that listen on `port` where a connection to 127.0.0.1 reaches them, asked
/// of the kernel directly: its text tables list every connection of the machine and take
/// milliseconds. Nothing when the kernel does not answer.
[[nodiscard]] std::optional<std::set<std::uint64_t>> loopback_listeners(std::uint16_t port);

}  // namespace sluice::local
