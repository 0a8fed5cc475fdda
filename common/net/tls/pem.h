#pragma once

#include "common/base/result.h"
#include "common/net/tls/tls_pair.h"

#include <memory>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string>
#include <vector>

namespace sluice::net {

/// Frees what OpenSSL has made.
struct FreeOpenSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }

  void operator()(X509* certificate) const { X509_free(certificate); }

  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }

  void operator()(EVP_MD_CTX* digest) const { EVP_MD_CTX_free(digest); }

  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }

  void operator()(BIGNUM* number) const { BN_free(number); }

  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

template <class T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

/// Reads `text`, which must outlive it. Null when memory ran out.
[[nodiscard]] Owned<BIO> reader(const std::string& text);

/// A pem_password_cb: what is under a passphrase is refused, not asked for on a terminal.
int no_passphrase(char* to, int size, int writing, void* user);

/// OpenSSL's oldest error of this thread in its own words, and none is left.
[[nodiscard]] std::string last_error();

/// The certificates of a PEM text of at most 4 MiB. Nothing when it holds something else too.
[[nodiscard]] std::vector<Owned<X509>> certificates_in(const std::string& text);

/// Makes `context` trust what `certificates` have signed; one in the middle of a chain is trusted
/// by itself, as in Go.
void trust(SSL_CTX* context, const std::vector<Owned<X509>>& certificates);

/// Makes `context` present `pair`, whose chain may have 32 more links. Problems: the pair is no
/// PEM, or its halves do not belong together.
[[nodiscard]] Result<bool, Problem> use_pair(SSL_CTX* context, const TlsPair& pair);

}  // namespace sluice::net
