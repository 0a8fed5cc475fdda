#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// How a server is spoken to.
enum class Protocol : std::uint8_t {
  http1,
  h2,
  by_alpn,  ///< h2 or http1, as the server chooses in the handshake of TLS
  grpc,     ///< calls over h2, one message each way or several back
  ws,       ///< WebSocket over http1
};

/// Where requests go: a URL taken apart.
struct Target {
  std::string host;         ///< lower case, without brackets
  std::uint16_t port = 80;  ///< 1 to 65535
  bool tls = false;         ///< under TLS
  Protocol protocol = Protocol::http1;
  std::string path = "/";  ///< with the query, without the fragment
  std::string authority;   ///< value of the Host header: `app.localhost:8080`

  /// True for `localhost` and names below it, which are loopback without a lookup.
  [[nodiscard]] bool is_localhost() const;
};

/// Reads `[SCHEME://]HOST[:PORT][/PATH]`, at most 8 KiB; the scheme is one of `http https h2c grpc
/// grpcs ws wss`, by default `http`. Without a port 80, under TLS 443.
[[nodiscard]] Result<Target, Problem> parse_target(std::string_view url);

/// Speaks to `target` in another way than its scheme says: `http1`, `h2`, `grpc` or `ws`. A problem
/// begins with `name`.
[[nodiscard]] std::optional<Problem> set_protocol(Target& target, std::string_view word,
                                                  const std::string& name);

/// True if `name: value` may be sent as a header: a token, and a value without control characters.
[[nodiscard]] bool is_header(std::string_view name, std::string_view value);
/// True if `text` is a token of HTTP, as methods and header names are.
[[nodiscard]] bool is_token(std::string_view text);

}  // namespace sluice::loadgen
