#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// Where requests go: an `http` or `https` URL taken apart.
struct Target {
  std::string host;         ///< lower case, without brackets
  std::uint16_t port = 80;  ///< 1 to 65535
  bool tls = false;         ///< under TLS
  std::string path = "/";   ///< with the query, without the fragment
  std::string authority;    ///< value of the Host header: `app.localhost:8080`

  /// True for `localhost` and names below it, which are loopback without a lookup.
  [[nodiscard]] bool is_localhost() const;
};

/// Reads `[http[s]://]HOST[:PORT][/PATH]`, at most 8 KiB. Without a port 80, under TLS 443.
[[nodiscard]] Result<Target, Problem> parse_target(std::string_view url);

/// True if `name: value` may be sent as a header: a token, and a value without control characters.
[[nodiscard]] bool is_header(std::string_view name, std::string_view value);
/// True if `text` is a token of HTTP, as methods and header names are.
[[nodiscard]] bool is_token(std::string_view text);

}  // namespace sluice::loadgen
