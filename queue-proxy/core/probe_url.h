#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::queue_proxy {

/// The URL of an HTTP probe.
struct ProbeUrl {
  bool secure = false;
  std::string host;  ///< without brackets, as it was written
  std::uint16_t port = 0;
  std::string target = "/";  ///< path and query

  /// Host and port as a Host header has them: IPv6 in brackets, the port left out when it is the
  /// scheme's own and `spell_port` is false.
  [[nodiscard]] std::string authority(bool spell_port) const;

  friend bool operator==(const ProbeUrl&, const ProbeUrl&) = default;
};

/// Where a redirect leads.
struct Redirect {
  ProbeUrl url;
  bool names_host = false;  ///< the Location itself had a host
};

/// Resolves a Location against the URL that answered with it (RFC 3986 5.2). Nothing when it is no
/// HTTP URL, or holds what no URL may.
[[nodiscard]] std::optional<Redirect> resolve_redirect(const ProbeUrl& base,
                                                       std::string_view location);

}  // namespace sluice::queue_proxy
