#pragma once

#include "common/base/result.h"
#include "common/net/tls/tls.h"
#include "common/net/tls/tls_pair.h"
#include "common/net/tls/tls_session.h"

#include <memory>
#include <string>

namespace sluice::net {

/// How servers are called over TLS.
struct ClientTlsSettings {
  std::string ca{};    ///< PEM of the authorities that are trusted; empty: those of the machine
  TlsPair own{};       ///< shown to servers that ask for a certificate; empty: none is
  bool verify = true;  ///< false: any certificate will do
};

/// What is wrong with the settings of a client.
struct ClientTlsProblem : Problem {
  enum class Part {
    library,  ///< memory ran out
    machine,  ///< the authorities of the machine cannot be read
    ca,       ///< no certificates in PEM, or something else too
    own,      ///< no PEM, or its halves do not belong together
  };
  Part part = Part::library;
};

/// Client sessions of TLS 1.2 and later to servers that prove their name or IP address. Outlives
/// its sessions.
class ClientTls {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ClientTls>, ClientTlsProblem> make(
      const ClientTlsSettings& settings);
  ~ClientTls();
  ClientTls(const ClientTls&) = delete;
  ClientTls& operator=(const ClientTls&) = delete;

  /// A session with the server of this name or IP address over the socket `descriptor`, which stays
  /// the caller's. `protocols`: what ALPN offers, most wanted first, as "h2,http/1.1"; empty: it is
  /// not used. Null when memory ran out.
  [[nodiscard]] std::unique_ptr<TlsSession> make_session(int descriptor, const std::string& server,
                                                         const std::string& protocols) const;

 private:
  explicit ClientTls(bool verify) : verify_{verify} {}

  bool verify_;
  SocketMethod socket_method_;
  SslContext context_;
};

}  // namespace sluice::net
