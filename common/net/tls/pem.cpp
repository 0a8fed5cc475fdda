#include "common/net/tls/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace sluice::net {
namespace {

constexpr std::size_t kBundleBytesMax = 4 << 20;
constexpr int kChainMax = 32;

Owned<X509> next_certificate(BIO& bio) {
  return Owned<X509>{PEM_read_bio_X509(&bio, nullptr, no_passphrase, nullptr)};
}

// Whether reading stopped because nothing follows; no error is left then.
bool at_end() {
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) return false;
  ERR_clear_error();
  return true;
}

}  // namespace

Owned<BIO> reader(const std::string& text) {
  return Owned<BIO>{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

int no_passphrase(char* /*to*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

std::vector<Owned<X509>> certificates_in(const std::string& text) {
  std::vector<Owned<X509>> found;
  if (text.size() > kBundleBytesMax) return found;
  ERR_clear_error();
  const Owned<BIO> bio = reader(text);
  while (Owned<X509> next = next_certificate(*bio)) found.push_back(std::move(next));
  if (!at_end()) found.clear();
  ERR_clear_error();
  return found;
}

void trust(SSL_CTX* context, const std::vector<Owned<X509>>& certificates) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  for (const auto& certificate : certificates) X509_STORE_add_cert(store, certificate.get());
  ERR_clear_error();
}

Result<bool, Problem> use_pair(SSL_CTX* context, const TlsPair& pair) {
  const std::string fix =
      "give a PEM certificate chain and the unencrypted PEM key that belongs to it";
  ERR_clear_error();
  const Owned<BIO> chain = reader(pair.certificate);
  const Owned<X509> own = next_certificate(*chain);
  if (!own) return Problem{"the certificate cannot be read: " + last_error(), fix};
  const Owned<BIO> key_text = reader(pair.key);
  const Owned<EVP_PKEY> key{
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, no_passphrase, nullptr)};
  if (!key) return Problem{"the private key cannot be read: " + last_error(), fix};
  if (SSL_CTX_use_certificate(context, own.get()) != 1) {
    return Problem{"the certificate cannot be used: " + last_error(), fix};
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Problem{"certificate and private key do not match: " + last_error(), fix};
  }
  for (int count = 0; count < kChainMax; ++count) {
    const Owned<X509> next = next_certificate(*chain);
    if (!next) {
      if (at_end()) return true;
      return Problem{"the certificate chain cannot be read: " + last_error(), fix};
    }
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) {
      return Problem{"the certificate chain cannot be used: " + last_error(), fix};
    }
  }
  return Problem{"the certificate chain has more than " + std::to_string(kChainMax) + " links",
                 fix};
}

}  // namespace sluice::net
