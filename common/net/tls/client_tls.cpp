#include "common/net/tls/client_tls.h"

#include "common/net/ip_text.h"
#include "common/net/tls/pem.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <optional>

namespace sluice::net {
namespace {

using Part = ClientTlsProblem::Part;

std::optional<ClientTlsProblem> believe(SSL_CTX* context, const std::string& ca) {
  if (ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return std::nullopt;
    return ClientTlsProblem{
        {"the machine's certificate authorities cannot be read", "give the server's authority"},
        Part::machine};
  }
  const auto authorities = certificates_in(ca);
  trust(context, authorities);
  if (!authorities.empty()) return std::nullopt;
  return ClientTlsProblem{
      {"it holds no certificates", "give certificates in PEM, and nothing else"}, Part::ca};
}

}  // namespace

ClientTls::~ClientTls() = default;

Result<std::unique_ptr<ClientTls>, ClientTlsProblem> ClientTls::make(
    const ClientTlsSettings& settings) {
  std::unique_ptr<ClientTls> made{new ClientTls{settings.verify}};
  made->socket_method_ = make_socket_method();
  ERR_clear_error();
  made->context_.reset(SSL_CTX_new(TLS_client_method()));
  if (!made->socket_method_ || !made->context_) {
    return ClientTlsProblem{{"cannot set up TLS", ""}, Part::library};
  }
  SSL_CTX* const context = made->context_.get();
  use_stream_habits(context);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, settings.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  std::optional<ClientTlsProblem> problem;
  if (settings.verify) problem = believe(context, settings.ca);
  ERR_clear_error();
  if (!problem && !(settings.own.certificate.empty() && settings.own.key.empty())) {
    const auto usable = use_pair(context, settings.own);
    if (!usable) problem = ClientTlsProblem{usable.error(), Part::own};
    ERR_clear_error();
  }
  if (problem) return *problem;
  return made;
}

std::unique_ptr<TlsSession> ClientTls::make_session(int descriptor, const std::string& server,
                                                    const std::string& protocols) const {
  // A name is asked for in the open; an IP is verified and may not be.
  const std::string name = is_ip(server) ? std::string{} : server;
  return make_tls_session(
      context_.get(), socket_method_.get(), descriptor,
      {.server_name = name, .verified = verify_ ? server : std::string{}, .protocol = protocols});
}

}  // namespace sluice::net
