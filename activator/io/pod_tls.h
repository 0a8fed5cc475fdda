#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/tls/tls_trust.h"
#include "common/net/upstream/upstream_pool.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::activator {

/// TLS to sidecars (activator.md 9): verified by the name data-plane.knative.dev and by the name of
/// the revision's namespace, against the authorities in `ca.crt`, which are read again when the
/// file changes. Outlives the pools that use it.
class PodTls {
 public:
  /// `log` outlives this. `port`: of the sidecars' TLS listener, 8112.
  PodTls(const std::string& directory, std::uint16_t port, const log::Logger& log);

  /// Reads the authorities. Problem: there are none.
  [[nodiscard]] Result<int, Problem> open();

  /// Turns the address of a sidecar into that of its TLS listener, with the TLS context for it.
  [[nodiscard]] net::UpstreamTls door(std::string_view space, net::Address& address);

  /// To be called each second: takes up changed authorities for new connections. A bad file is
  /// logged once and the old ones stay.
  void look();

 private:
  /// One namespace's sidecars, by version of HTTP.
  struct Space {
    net::VerifyingTlsClient h1;
    net::VerifyingTlsClient h2;
  };

  [[nodiscard]] Result<std::optional<std::string>, Problem> read() const;

  const log::Logger& log_;
  std::string path_;
  std::uint16_t port_;
  std::string bundle_;
  bool told_ = false;
  net::TlsTrust trust_;
  std::map<std::string, std::unique_ptr<Space>, std::less<>> spaces_;
};

}  // namespace sluice::activator
