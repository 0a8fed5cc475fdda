#pragma once

#include "common/net/tls/tls.h"
#include "common/net/tls/tls_session.h"

#include <memory>
#include <string>

namespace sluice::queue_proxy {

/// Client sessions that accept any certificate, as kubelet does for a container that it identifies
/// by its address alone (queue-proxy.md 15.6). TLS 1.2 and later, no ALPN. Must outlive its
/// sessions.
class TrustingTlsClient final : public net::TlsSessions {
 public:
  /// `server_name` is sent as SNI; empty for a server known by its address.
  explicit TrustingTlsClient(std::string server_name);
  ~TrustingTlsClient() override;
  TrustingTlsClient(const TrustingTlsClient&) = delete;
  TrustingTlsClient& operator=(const TrustingTlsClient&) = delete;

  /// Nothing of the TLS library is set up before the first call.
  [[nodiscard]] std::unique_ptr<net::TlsSession> make_session(int descriptor) override;

 private:
  std::string server_name_;
  net::SocketMethod socket_method_;
  net::SslContext context_;
};

}  // namespace sluice::queue_proxy
