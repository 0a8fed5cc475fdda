#include "common/kube/server_tls.h"

#include "common/net/ip_text.h"
#include "common/net/tls/tls_session.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <utility>

namespace sluice::kube {
namespace {

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }

  void operator()(X509* certificate) const { X509_free(certificate); }

  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

template <class T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

// Keys under a passphrase are refused, not asked for on a terminal.
int no_passphrase(char* /*to*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

Owned<BIO> reader(const std::string& text) {
  return Owned<BIO>{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

std::optional<Problem> believe(SSL_CTX* context, const std::string& ca) {
  if (ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return std::nullopt;
    return Problem{"the machine's certificate authorities cannot be read",
                   "give the API server's CA as certificate-authority"};
  }
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  // An authority in the middle of a chain is trusted by itself, as in Go.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  const Owned<BIO> text = reader(ca);
  int count = 0;
  while (const Owned<X509> next{PEM_read_bio_X509(text.get(), nullptr, no_passphrase, nullptr)}) {
    X509_STORE_add_cert(store, next.get());
    ++count;
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (count > 0 && at_end) return std::nullopt;
  return Problem{"the certificate authority of the API server holds no certificates",
                 "give certificates in PEM, and nothing else"};
}

std::optional<Problem> show(SSL_CTX* context, const Access& access) {
  const std::string fix =
      "give a PEM certificate chain as client-certificate and the unencrypted PEM key that belongs "
      "to it as client-key";
  const Owned<BIO> chain = reader(access.client_certificate);
  const Owned<X509> own{PEM_read_bio_X509(chain.get(), nullptr, no_passphrase, nullptr)};
  const Owned<BIO> key_text = reader(access.client_key);
  const Owned<EVP_PKEY> key{
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, no_passphrase, nullptr)};
  if (!own) return Problem{"the client certificate cannot be read", fix};
  if (!key) return Problem{"the client key cannot be read", fix};
  if (SSL_CTX_use_certificate(context, own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Problem{"the client certificate and its key do not belong together", fix};
  }
  while (const Owned<X509> next{PEM_read_bio_X509(chain.get(), nullptr, no_passphrase, nullptr)}) {
    SSL_CTX_add1_chain_cert(context, next.get());
  }
  return std::nullopt;
}

}  // namespace

void ServerTls::Release::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

void ServerTls::Release::operator()(BIO_METHOD* method) const {
  BIO_meth_free(method);
}

ServerTls::ServerTls(std::string server_name) : server_name_{std::move(server_name)} {}

ServerTls::~ServerTls() = default;

Result<std::unique_ptr<ServerTls>, Problem> ServerTls::make(const Access& access) {
  std::unique_ptr<ServerTls> made{new ServerTls{access.server_name}};
  made->socket_method_.reset(net::make_socket_method());
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
