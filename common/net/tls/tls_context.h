#pragma once

#include "common/base/result.h"
#include "common/net/tls/tls.h"
#include "common/net/tls/tls_pair.h"
#include "common/net/tls/tls_session.h"
#include "common/net/tls/tls_settings.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;

namespace sluice::net {

using TlsDigest = std::array<unsigned char, 32>;

/// SHA-256 over both halves of a pair; differs when files hold something new.
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

  /// From now on `h2` is offered only to clients that name (SNI) a server of which `allowed` is
  /// true; the name is empty where a client sends none.
  void offer_h2_to(std::function<bool(std::string_view server_name)> allowed) {
    h2_allowed_ = std::move(allowed);
  }

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
  // RFC 7301: what the server offers to the client of `ssl`, on the wire.
  [[nodiscard]] const std::string& protocols_for(ssl_st* ssl) const;
  static int choose_protocol(ssl_st* ssl, const unsigned char** chosen, unsigned char* chosen_size,
                             const unsigned char* offered, unsigned offered_size, void* self);

  std::string protocols_;         // ALPN as on the wire
  std::string protocols_not_h2_;  // the same without h2
  std::function<bool(std::string_view)> h2_allowed_;
  SocketMethod socket_method_;
  SslContext context_;
};

}  // namespace sluice::net
