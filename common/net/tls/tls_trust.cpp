#include "common/net/tls/tls_trust.h"

#include "common/base/check.h"
#include "common/net/tls/tls_session.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <utility>

namespace sluice::net {
namespace {

constexpr std::size_t kBundleBytesMax = 4 << 20;

struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }

  void operator()(X509* certificate) const { X509_free(certificate); }
};

using Certificates = std::vector<std::unique_ptr<X509, FreeOpenSsl>>;

// Certificates under a passphrase are refused, not asked for on a terminal.
int no_passphrase(char* /*to*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

// Nothing when the text holds something else, or nothing at all.
Certificates certificates_in(const std::string& text) {
  Certificates found;
  if (text.size() > kBundleBytesMax) return found;
  const std::unique_ptr<BIO, FreeOpenSsl> reader{
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
  ERR_clear_error();
  while (X509* const next = PEM_read_bio_X509(reader.get(), nullptr, no_passphrase, nullptr)) {
    found.emplace_back(next);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) found.clear();
  return found;
}

}  // namespace

void TlsTrust::Release::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

void TlsTrust::Release::operator()(BIO_METHOD* method) const {
  BIO_meth_free(method);
}

TlsTrust::TlsTrust() : socket_method_{make_socket_method()} {
  CHECK(socket_method_ != nullptr);
  replace({});
}

TlsTrust::~TlsTrust() = default;

std::vector<Problem> TlsTrust::replace(std::span<const std::string> bundles) {
  std::unique_ptr<SSL_CTX, Release> next{SSL_CTX_new(TLS_client_method())};
  CHECK(next != nullptr);
  use_stream_habits(next.get());
  SSL_CTX_set_min_proto_version(next.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(next.get(), SSL_VERIFY_PEER, nullptr);
  X509_STORE* const store = SSL_CTX_get_cert_store(next.get());
  // An authority in the middle of a chain is trusted by itself, as in Go.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  std::vector<Problem> problems;
  size_ = 0;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    const Certificates certificates = certificates_in(bundles[i]);
    if (certificates.empty()) {
      problems.push_back({"trust bundle " + std::to_string(i + 1) + " holds no certificates",
                          "give certificates in PEM, and nothing else"});
    }
    for (const auto& certificate : certificates) X509_STORE_add_cert(store, certificate.get());
    size_ += certificates.size();
  }
  ERR_clear_error();
  context_ = std::move(next);
  return problems;
}

VerifyingTlsClient::VerifyingTlsClient(const TlsTrust& trust, std::string server_name,
                                       std::string also_named, std::string protocol)
    : trust_{trust},
      server_name_{std::move(server_name)},
      also_named_{std::move(also_named)},
      protocol_{std::move(protocol)} {}

std::unique_ptr<TlsSession> VerifyingTlsClient::make_session(int descriptor) {
  return make_tls_session(trust_.context_.get(), trust_.socket_method_.get(), descriptor,
                          {server_name_, server_name_, also_named_, protocol_});
}

}  // namespace sluice::net
