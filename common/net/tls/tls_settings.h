#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

enum class TlsVersion : std::uint8_t { v1_2, v1_3 };

/// What a TLS server offers. Empty lists mean the library's choice.
struct TlsSettings {
  TlsVersion min = TlsVersion::v1_3;
  TlsVersion max = TlsVersion::v1_3;
  std::vector<std::string> suites_1_2{};  ///< in OpenSSL's names, most wanted first
  std::vector<std::string> suites_1_3{};  ///< IANA's names are OpenSSL's here
  std::vector<std::string> groups{};      ///< key exchange, in OpenSSL's names, most wanted first
  std::vector<std::string> protocols{"h2", "http/1.1"};  ///< ALPN, most wanted first

  /// Names that were given, are known, and are not in this build: to be reported once.
  std::vector<std::string> missing{};

  friend bool operator==(const TlsSettings&, const TlsSettings&) = default;
};

/// `1.2` or `1.3`.
[[nodiscard]] Result<TlsVersion, Problem> parse_tls_version(std::string_view text);

/// Sets the suites from a comma-separated list of IANA names. Blanks around names and empty items
/// are skipped, an unknown name is a problem. Suites of one version only leave the other version
/// with the library's choice, as Go does.
[[nodiscard]] Result<TlsSettings, Problem> with_cipher_suites(TlsSettings settings,
                                                              std::string_view list);

/// Sets the groups from a comma-separated list, in Go's names (`X25519`, `CurveP256` or `P-256`,
/// …). A known group that this build lacks goes to `missing`; a list of nothing else is a problem.
[[nodiscard]] Result<TlsSettings, Problem> with_curves(TlsSettings settings, std::string_view list);

/// The names in a comma-separated list joined with `separator`, as OpenSSL's lists are written.
[[nodiscard]] std::string joined(const std::vector<std::string>& names, char separator);

}  // namespace sluice::net
