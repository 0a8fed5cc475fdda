#include "common/kube/server_tls.h"

#include "common/net/ip_text.h"
#include "common/net/tls/pem.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <utility>

namespace sluice::kube {
namespace {

std::optional<Problem> believe(SSL_CTX* context, const std::string& ca) {
  if (ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return std::nullopt;
    return Problem{"the machine's certificate authorities cannot be read",
                   "give the API server's CA as certificate-authority"};
  }
  const auto authorities = net::certificates_in(ca);
  net::trust(context, authorities);
  if (!authorities.empty()) return std::nullopt;
  return Problem{"the certificate authority of the API server holds no certificates",
                 "give certificates in PEM, and nothing else"};
}

std::optional<Problem> show(SSL_CTX* context, const Access& access) {
  const auto usable =
      net::use_pair(context, {.certificate = access.client_certificate, .key = access.client_key});
  if (usable) return std::nullopt;
  return Problem{"client-certificate and client-key: " + usable.error().what, usable.error().fix};
}

}  // namespace

ServerTls::ServerTls(std::string server_name) : server_name_{std::move(server_name)} {}

ServerTls::~ServerTls() = default;

Result<std::unique_ptr<ServerTls>, Problem> ServerTls::make(const Access& access) {
  std::unique_ptr<ServerTls> made{new ServerTls{access.server_name}};
  made->socket_method_ = net::make_socket_method();
  ERR_clear_error();
  made->context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!made->socket_method_ || !made->context_) return Problem{"cannot set up TLS", ""};
  SSL_CTX* const context = made->context_.get();
  net::use_stream_habits(context);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  std::optional<Problem> problem = believe(context, access.ca);
  ERR_clear_error();
  if (!problem && !(access.client_certificate.empty() && access.client_key.empty())) {
    problem = show(context, access);
    ERR_clear_error();
  }
  if (problem) return *problem;
  return made;
}

std::unique_ptr<net::TlsSession> ServerTls::make_session(int descriptor) {
  // A name is asked for in the open; an IP is verified and may not be.
  const std::string name = net::is_ip(server_name_) ? std::string{} : server_name_;
  return net::make_tls_session(
      context_.get(), socket_method_.get(), descriptor,
      {.server_name = name, .verified = server_name_, .protocol = "http/1.1"});
}

}  // namespace sluice::kube
