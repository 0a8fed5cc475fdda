#pragma once

#include "common/base/result.h"
#include "common/net/tls/tls.h"
#include "common/net/tls/tls_pair.h"
#include "common/net/tls/tls_session.h"
#include "common/net/tls/tls_settings.h"

#include <array>
#include <memory>
#include <string>

namespace sluice::net {

using TlsDigest = std::array<unsigned char, 32>;

/// SHA-256 over both halves of a pair; tells whether files hold something new.
[[nodiscard]] TlsDigest digest_of(const TlsPair& pair);

/// What a TLS listener needs: settings that stay, and a pair that can be changed while connections
/// are open. Asks clients for no certificate. Must outlive its sessions; belongs to one thread.
/// Nothing of OpenSSL is set up before the first one is made.
class TlsContext final : public TlsSessions {
 public:
  /// Problems: the pair is no PEM, its halves do not belong together, or the settings leave no
  /// suite. `settings` is not judged beyond what the library says.
  [[nodiscard]] static Result<std::unique_ptr<TlsContext>, Problem> make(TlsSettings settings,
                                                                         const TlsPair& pair);
  ~TlsContext() override;
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// Serves new handshakes with `pair`; open connections continue. With a problem nothing has
  /// changed.
  [[nodiscard]] Result<bool, Problem> replace(const TlsPair& pair);

  [[nodiscard]] std::unique_ptr<TlsSession> make_session(int descriptor) override;

 private:
  explicit TlsContext(TlsSettings settings);

  TlsSettings settings_;
  std::string protocols_;  // ALPN as it stands on the wire; the SSL_CTX points to it
  SocketMethod socket_method_;
  SslContext context_;
};

}  // namespace sluice::net
