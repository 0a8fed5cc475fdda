#pragma once

#include "common/base/result.h"
#include "common/kube/access.h"
#include "common/net/tls/client_tls.h"
#include "common/net/tls/tls.h"

#include <memory>
#include <string>

namespace sluice::kube {

/// Client sessions to an API server: TLS 1.2 and later, its certificate signed by the access's CA
/// (the machine's where there is none) and for its name or IP, ours shown if we have one. Outlives
/// its sessions.
class ServerTls final : public net::TlsSessions {
 public:
  /// A problem: the CA, the certificate or the key is none, or the last two do not belong together.
  [[nodiscard]] static Result<std::unique_ptr<ServerTls>, Problem> make(const Access& access);
  ~ServerTls() override;
  ServerTls(const ServerTls&) = delete;
  ServerTls& operator=(const ServerTls&) = delete;

  [[nodiscard]] std::unique_ptr<net::TlsSession> make_session(int descriptor) override;

 private:
  ServerTls(std::string server_name, std::unique_ptr<net::ClientTls> client);

  std::string server_name_;
  std::unique_ptr<net::ClientTls> client_;
};

}  // namespace sluice::kube
