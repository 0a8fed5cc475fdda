#pragma once

#include "common/base/result.h"
#include "common/net/tls/tls.h"
#include "common/net/tls/tls_session.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::net {

/// The certificate authorities that a program trusts, and through them the servers it calls
/// (activator.md 9). Can be changed while connections are open: later handshakes use the new ones,
/// and open connections continue. Belongs to one thread and outlives the clients made of it.
class TlsTrust {
 public:
  /// Trusts no CA yet.
  TlsTrust();
  ~TlsTrust();
  TlsTrust(const TlsTrust&) = delete;
  TlsTrust& operator=(const TlsTrust&) = delete;

  /// Trusts the certificates in these PEM texts, and no others, from now on. A text without a
  /// certificate, or with anything else in it, is left out as a whole; the problems name them by
  /// their place in `bundles`.
  std::vector<Problem> replace(std::span<const std::string> bundles);

  /// How many certificates are trusted.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  friend class VerifyingTlsClient;

  SocketMethod socket_method_;
  SslContext context_;  // sessions hold the one they were made from
  std::size_t size_ = 0;
};

/// Client sessions of TLS 1.3 that accept a server only if its certificate comes from the trust and
/// lists both names.
class VerifyingTlsClient final : public TlsSessions {
 public:
  /// `server_name`: sent as SNI, and verified. `also_named`: a DNS name that the certificate must
  /// list besides, as it stands; empty: none. `protocol`: what ALPN offers, as "h2".
  VerifyingTlsClient(const TlsTrust& trust, std::string server_name, std::string also_named,
                     std::string protocol);

  [[nodiscard]] std::unique_ptr<TlsSession> make_session(int descriptor) override;

 private:
  const TlsTrust& trust_;  // outlives this
  std::string server_name_;
  std::string also_named_;
  std::string protocol_;
};

}  // namespace sluice::net
