#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::net {

/// Where a program listens or dials: `host:port`, `:port` (all interfaces) or `unix:/path`
/// (protocols.md 1). Port 0 means any free one.
struct Address {
  std::string host;  ///< a literal IP address; empty for all interfaces
  std::uint16_t port = 0;
  std::string path;  ///< not empty: a Unix socket

  [[nodiscard]] bool is_unix() const { return !path.empty(); }

  [[nodiscard]] std::string text() const;

  friend bool operator==(const Address&, const Address&) = default;
};

/// Parses one of the three forms. `localhost` means 127.0.0.1; other host names are refused,
/// since an address setting must not depend on a resolver.
[[nodiscard]] Result<Address, Problem> parse_address(std::string_view text);

}  // namespace sluice::net
