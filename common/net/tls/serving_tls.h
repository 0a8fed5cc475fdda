#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/net/server/proxy_server.h"
#include "common/net/tls/certificate_watch.h"
#include "common/net/tls/tls_context.h"

#include <memory>
#include <optional>

namespace sluice::net {

/// The pair of a TLS listener: there when its files are there at start, and follows them
/// afterwards. Outlives the server that listens with it.
class ServingTls {
 public:
  /// `log` outlives this.
  ServingTls(TlsFiles files, TlsSettings settings, const log::Logger& log);

  /// The sessions of a listener, or null when a file is missing. A pair that cannot be used is a
  /// problem.
  [[nodiscard]] Result<TlsContext*, Problem> load();

  /// Listens when both files are there; the address in force, or nothing without them. A pair that
  /// cannot be used is a problem.
  [[nodiscard]] Result<std::optional<Address>, Problem> open(ProxyServer& server,
                                                             const Address& address);

  /// To be called each second: takes up a changed pair for new handshakes. A bad one is logged once
  /// and the old one stays.
  void look();

 private:
  const log::Logger& log_;  // App's, declared before this
  TlsSettings settings_;
  CertificateWatch watch_;
  std::unique_ptr<TlsContext> context_;
};

}  // namespace sluice::net
