#include "queue-proxy/io/trusting_tls.h"

#include "common/net/tls/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace sluice::queue_proxy {

TrustingTlsClient::TrustingTlsClient(std::string server_name)
    : server_name_{std::move(server_name)} {}

TrustingTlsClient::~TrustingTlsClient() = default;

std::unique_ptr<net::TlsSession> TrustingTlsClient::make_session(int descriptor) {
  if (!context_) {
    ERR_clear_error();
    socket_method_ = net::make_socket_method();
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!context_ || !socket_method_) {
      context_.reset();
      return nullptr;
    }
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    // Short keys in a certificate that is not verified are no reason to call a container unready.
    SSL_CTX_set_security_level(context_.get(), 1);
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  }
  return net::make_tls_session(context_.get(), socket_method_.get(), descriptor,
                               {.server_name = server_name_});
}

}  // namespace sluice::queue_proxy
