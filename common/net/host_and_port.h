#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::net {

/// The two halves of the `host:port` that a program dials, the host of IPv6 in brackets. Unlike
/// where it listens it may be a name, which is resolved at each attempt.
struct HostAndPort {
  std::string host;  ///< without brackets
  std::string port;
};

/// Nothing when `address` is none, port 0 included.
[[nodiscard]] std::optional<HostAndPort> host_and_port(std::string_view address);

/// Whether `address` is one to dial: `host:port` or `unix:/path`.
[[nodiscard]] bool is_dialable(std::string_view address);

}  // namespace sluice::net
