#include "queue-proxy/injector/io/certificates.h"

#include <ctime>
#include <memory>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace sluice::injector {
namespace {

struct Release {
  void operator()(BIO* bio) const { BIO_free(bio); }

  void operator()(X509* certificate) const { X509_free(certificate); }

  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }

  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }

  void operator()(BIGNUM* number) const { BN_free(number); }
};

template <class T>
using Owned = std::unique_ptr<T, Release>;

constexpr std::size_t kPemMax = 64 * 1024;
constexpr Duration kClocksDiffer = std::chrono::minutes{5};

Owned<BIO> reader(const std::string& pem) {
  if (pem.empty() || pem.size() > kPemMax) return nullptr;
  return Owned<BIO>{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
}

Owned<X509> read_certificate(const std::string& pem) {
  const auto bio = reader(pem);
  Owned<X509> read{bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr};
  ERR_clear_error();
  return read;
}

// Nobody is asked for a passphrase.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) {
  return 0;
}

Owned<EVP_PKEY> read_key(const std::string& pem) {
  const auto bio = reader(pem);
  Owned<EVP_PKEY> read{bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr)
                           : nullptr};
  ERR_clear_error();
  return read;
}

TimePoint time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return TimePoint{std::chrono::seconds{timegm(&parts)}};
}

CertificateSpan span_of(const X509& certificate) {
  return {time_of(X509_get0_notBefore(&certificate)), time_of(X509_get0_notAfter(&certificate))};
}

bool signed_by(X509& certificate, const X509* ca) {
  if (ca == nullptr) return false;
  const bool is = X509_verify(&certificate, X509_get0_pubkey(ca)) == 1;
  ERR_clear_error();
  return is;
}

bool is_for(X509& certificate, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (X509_check_host(&certificate, name.data(), name.size(), 0, nullptr) != 1) return false;
  }
  return true;
}

std::string text_of(BIO& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(&bio, &bytes);
  return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : std::string{};
}

std::string pem_of(X509& certificate) {
  const Owned<BIO> bio{BIO_new(BIO_s_mem())};
  return bio && PEM_write_bio_X509(bio.get(), &certificate) == 1 ? text_of(*bio) : std::string{};
}

std::string pem_of(EVP_PKEY& key) {
  const Owned<BIO> bio{BIO_new(BIO_s_mem())};
  const bool written = bio && PEM_write_bio_PKCS8PrivateKey(bio.get(), &key, nullptr, nullptr, 0,
                                                            nullptr, nullptr) == 1;
  return written ? text_of(*bio) : std::string{};
}

bool extend(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension{
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str())};
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

bool set_serial(X509& certificate) {
  const Owned<BIGNUM> number{BN_new()};
  // 127 random bits: positive, and no two alike.
  return number && BN_rand(number.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_times(X509& certificate, TimePoint now, Duration life) {
  const auto unix_time = [](TimePoint at) {
    return static_cast<std::time_t>(
        std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count());
  };
  return ASN1_TIME_set(X509_getm_notBefore(&certificate), unix_time(now - kClocksDiffer)) !=
             nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(&certificate), unix_time(now + life)) != nullptr;
}

bool set_name(X509& certificate, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.c_str());
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_UTF8, bytes,
                                    -1, -1, 0) == 1;
}

/// A certificate with its key.
struct Made {
  Owned<X509> certificate;
  Owned<EVP_PKEY> key;
};

// A certificate with a new key, not signed yet; null when the library fails.
Made draft(const std::string& name, TimePoint now, Duration life) {
  Made made{Owned<X509>{X509_new()}, Owned<EVP_PKEY>{EVP_EC_gen("P-256")}};
  const bool good = made.certificate && made.key &&
                    X509_set_version(made.certificate.get(), 2) == 1 &&
                    set_serial(*made.certificate) && set_times(*made.certificate, now, life) &&
                    set_name(*made.certificate, name) &&
                    X509_set_pubkey(made.certificate.get(), made.key.get()) == 1;
  return good ? std::move(made) : Made{};
}

bool make_ca(CertificateSet& set, TimePoint now) {
  // The name tells CAs apart, since a bundle may hold two.
  const auto born =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const Made ca = draft("sluice injector CA " + std::to_string(born), now, kCaLife);
  if (!ca.certificate) return false;
  X509& certificate = *ca.certificate;
  const bool good =
      X509_set_issuer_name(&certificate, X509_get_subject_name(&certificate)) == 1 &&
      extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      extend(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      extend(certificate, certificate, NID_subject_key_identifier, "hash") &&
      X509_sign(&certificate, ca.key.get(), EVP_sha256()) > 0;
  set.ca = good ? pem_of(certificate) : "";
  set.ca_key = good ? pem_of(*ca.key) : "";
  return !set.ca.empty() && !set.ca_key.empty();
}

bool make_leaf(CertificateSet& set, const std::vector<std::string>& names, TimePoint now) {
  const auto ca = read_certificate(set.ca);
  const auto ca_key = read_key(set.ca_key);
  std::string sans;
  for (const std::string& name : names) sans += (sans.empty() ? "DNS:" : ",DNS:") + name;
  const Made leaf = draft("sluice injector", now, kLeafLife);
  if (!ca || !ca_key || !leaf.certificate) return false;
  X509& certificate = *leaf.certificate;
  const bool good = X509_set_issuer_name(&certificate, X509_get_subject_name(ca.get())) == 1 &&
                    extend(certificate, *ca, NID_basic_constraints, "critical,CA:FALSE") &&
                    extend(certificate, *ca, NID_key_usage, "critical,digitalSignature") &&
                    extend(certificate, *ca, NID_ext_key_usage, "serverAuth") &&
                    extend(certificate, *ca, NID_authority_key_identifier, "keyid") &&
                    extend(certificate, *ca, NID_subject_alt_name, sans) &&
                    X509_sign(&certificate, ca_key.get(), EVP_sha256()) > 0;
  set.leaf = good ? pem_of(certificate) : "";
  set.leaf_key = good ? pem_of(*leaf.key) : "";
  return !set.leaf.empty() && !set.leaf_key.empty();
}

}  // namespace

CertificateState state_of(const CertificateSet& set, const std::vector<std::string>& names) {
  CertificateState state;
  const auto ca = read_certificate(set.ca);
  const auto ca_key = read_key(set.ca_key);
  const auto old_ca = read_certificate(set.old_ca);
  const auto leaf = read_certificate(set.leaf);
  const auto leaf_key = read_key(set.leaf_key);
  if (ca && ca_key && X509_check_private_key(ca.get(), ca_key.get()) == 1) state.ca = span_of(*ca);
  state.old_ca = !set.old_ca.empty();
  const bool ours = leaf && leaf_key && is_for(*leaf, names) &&
                    X509_check_private_key(leaf.get(), leaf_key.get()) == 1;
  ERR_clear_error();
  if (!ours) return state;
  state.leaf = span_of(*leaf);
  state.leaf_by_ca = signed_by(*leaf, ca.get());
  state.leaf_by_old_ca = signed_by(*leaf, old_ca.get());
  return state;
}

Result<CertificateSet, Problem> take_step(const CertificateSet& set, CertificateStep step,
                                          const std::vector<std::string>& names, TimePoint now) {
  CertificateSet next = set;
  bool good = true;
  switch (step) {
    case CertificateStep::none:
      break;
    case CertificateStep::make_all:
      next = {};
      good = make_ca(next, now) && make_leaf(next, names, now);
      break;
    case CertificateStep::renew_leaf:
      good = make_leaf(next, names, now);
      break;
    case CertificateStep::renew_ca:
      next.old_ca = set.ca;
      good = make_ca(next, now);
      break;
    case CertificateStep::drop_old_ca:
      next.old_ca.clear();
      break;
  }
  ERR_clear_error();
  if (!good) return Problem{"the TLS library cannot make a certificate", "restart the injector"};
  return next;
}

}  // namespace sluice::injector
