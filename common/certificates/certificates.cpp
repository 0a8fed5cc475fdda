#include "common/certificates/certificates.h"

#include "common/net/tls/pem.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <string_view>

namespace sluice::certificates {
namespace {

using net::Owned;

constexpr std::size_t kPemMax = 64 * 1024;
constexpr Duration kClocksDiffer = std::chrono::minutes{5};

Owned<BIO> bounded(const std::string& pem) {
  if (pem.empty() || pem.size() > kPemMax) return nullptr;
  return net::reader(pem);
}

Owned<X509> read_certificate(const std::string& pem) {
  const auto bio = bounded(pem);
  Owned<X509> read{bio ? PEM_read_bio_X509(bio.get(), nullptr, net::no_passphrase, nullptr)
                       : nullptr};
  ERR_clear_error();
  return read;
}

Owned<EVP_PKEY> read_key(const std::string& pem) {
  const auto bio = bounded(pem);
  Owned<EVP_PKEY> read{
      bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, net::no_passphrase, nullptr) : nullptr};
  ERR_clear_error();
  return read;
}

TimePoint time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return TimePoint{std::chrono::seconds{timegm(&parts)}};
}

Span span_of(const X509& certificate) {
  return {time_of(X509_get0_notBefore(&certificate)), time_of(X509_get0_notAfter(&certificate))};
}

bool signed_by(X509& certificate, const X509* ca) {
  if (ca == nullptr) return false;
  const bool is = X509_verify(&certificate, X509_get0_pubkey(ca)) == 1;
  ERR_clear_error();
  return is;
}

bool has_uri(const GENERAL_NAMES& names, const std::string& uri) {
  for (int at = 0; at < sk_GENERAL_NAME_num(&names); ++at) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(&names, at);
    if (name->type != GEN_URI) continue;
    const ASN1_STRING* const text = name->d.uniformResourceIdentifier;
    const auto* const bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
    if (std::string_view{bytes, static_cast<std::size_t>(ASN1_STRING_length(text))} == uri) {
      return true;
    }
  }
  return false;
}

bool is_for(X509& certificate, const LeafSpec& spec) {
  for (const std::string& name : spec.dns) {
    if (X509_check_host(&certificate, name.data(), name.size(), 0, nullptr) != 1) return false;
  }
  if (spec.uris.empty()) return true;
  const Owned<GENERAL_NAMES> names{static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr))};
  return names && std::all_of(spec.uris.begin(), spec.uris.end(),
                              [&names](const auto& uri) { return has_uri(*names, uri); });
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

// A certificate for a key, not signed yet; null when the library fails.
Owned<X509> draft(const std::string& name, EVP_PKEY& key, TimePoint now, Duration life) {
  Owned<X509> certificate{X509_new()};
  const bool good = certificate && X509_set_version(certificate.get(), 2) == 1 &&
                    set_serial(*certificate) && set_times(*certificate, now, life) &&
                    set_name(*certificate, name) && X509_set_pubkey(certificate.get(), &key) == 1;
  return good ? std::move(certificate) : nullptr;
}

// The same with a key of its own.
Made draft(const std::string& name, TimePoint now, Duration life) {
  Made made{nullptr, Owned<EVP_PKEY>{EVP_EC_gen("P-256")}};
  if (made.key) made.certificate = draft(name, *made.key, now, life);
  return made;
}

bool make_ca(Set& set, const LeafSpec& spec, TimePoint now) {
  // The name tells CAs apart, since a bundle may hold two.
  const auto born =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const Made ca = draft(spec.common_name + " CA " + std::to_string(born), now, kCaLife);
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

// Names are ours or were checked: none carries a comma, which would begin another.
std::string alternatives(const LeafSpec& spec) {
  std::string all;
  for (const std::string& name : spec.dns) all += (all.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& uri : spec.uris) all += (all.empty() ? "URI:" : ",URI:") + uri;
  return all;
}

bool sign_leaf(const Set& set, X509& certificate, const LeafSpec& spec) {
  const auto ca = read_certificate(set.ca);
  const auto ca_key = read_key(set.ca_key);
  if (!ca || !ca_key) return false;
  const std::string uses = spec.server && spec.client ? "serverAuth,clientAuth"
                           : spec.server              ? "serverAuth"
                                                      : "clientAuth";
  return X509_set_issuer_name(&certificate, X509_get_subject_name(ca.get())) == 1 &&
         extend(certificate, *ca, NID_basic_constraints, "critical,CA:FALSE") &&
         extend(certificate, *ca, NID_key_usage, "critical,digitalSignature") &&
         extend(certificate, *ca, NID_ext_key_usage, uses) &&
         extend(certificate, *ca, NID_authority_key_identifier, "keyid") &&
         extend(certificate, *ca, NID_subject_alt_name, alternatives(spec)) &&
         X509_sign(&certificate, ca_key.get(), EVP_sha256()) > 0;
}

bool make_leaf(Set& set, const LeafSpec& spec, TimePoint now) {
  const Made leaf = draft(spec.common_name, now, kLeafLife);
  if (!leaf.certificate) return false;
  X509& certificate = *leaf.certificate;
  const bool good = sign_leaf(set, certificate, spec);
  set.leaf = good ? pem_of(certificate) : "";
  set.leaf_key = good ? pem_of(*leaf.key) : "";
  return !set.leaf.empty() && !set.leaf_key.empty();
}

}  // namespace

State state_of(const Set& set, const LeafSpec& spec) {
  State state;
  const auto ca = read_certificate(set.ca);
  const auto ca_key = read_key(set.ca_key);
  const auto old_ca = read_certificate(set.old_ca);
  const auto leaf = read_certificate(set.leaf);
  const auto leaf_key = read_key(set.leaf_key);
  if (ca && ca_key && X509_check_private_key(ca.get(), ca_key.get()) == 1) state.ca = span_of(*ca);
  state.old_ca = !set.old_ca.empty();
  const bool ours = leaf && leaf_key && is_for(*leaf, spec) &&
                    X509_check_private_key(leaf.get(), leaf_key.get()) == 1;
  ERR_clear_error();
  if (!ours) return state;
  state.leaf = span_of(*leaf);
  state.leaf_by_ca = signed_by(*leaf, ca.get());
  state.leaf_by_old_ca = signed_by(*leaf, old_ca.get());
  return state;
}

Result<Set, Problem> take_step(const Set& set, Step step, const LeafSpec& spec, TimePoint now) {
  Set next = set;
  bool good = true;
  switch (step) {
    case Step::none:
      break;
    case Step::make_all:
      next = {};
      good = make_ca(next, spec, now) && make_leaf(next, spec, now);
      break;
    case Step::renew_leaf:
      good = make_leaf(next, spec, now);
      break;
    case Step::renew_ca:
      next.old_ca = set.ca;
      good = make_ca(next, spec, now);
      break;
    case Step::drop_old_ca:
      next.old_ca.clear();
      break;
  }
  ERR_clear_error();
  if (!good) return Problem{"the TLS library cannot make a certificate", "restart the program"};
  return next;
}

Result<KeyPair, Problem> make_key() {
  const Owned<EVP_PKEY> key{EVP_EC_gen("P-256")};
  const Owned<BIO> bio{BIO_new(BIO_s_mem())};
  KeyPair pair;
  if (key && bio && PEM_write_bio_PUBKEY(bio.get(), key.get()) == 1) {
    pair = {.key = pem_of(*key), .public_key = text_of(*bio)};
  }
  ERR_clear_error();
  if (pair.key.empty() || pair.public_key.empty()) {
    return Problem{"the TLS library cannot make a key", "restart the program"};
  }
  return pair;
}

Result<Signed, Problem> sign(const Set& set, const std::string& public_key, const LeafSpec& spec,
                             Duration life, TimePoint now) {
  const auto bio = bounded(public_key);
  const Owned<EVP_PKEY> key{bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr)
                                : nullptr};
  std::array<char, 32> group{};
  std::size_t size = 0;
  const bool fits = key && EVP_PKEY_get_group_name(key.get(), group.data(), group.size(), &size) &&
                    std::string_view{group.data(), size} == "prime256v1";
  ERR_clear_error();
  if (!fits) return Problem{"the public key is not a P-256 key", "send one as PEM"};
  const auto certificate = draft(spec.common_name, *key, now, life);
  const bool good = certificate && sign_leaf(set, *certificate, spec);
  ERR_clear_error();
  if (!good) return Problem{"there is no CA to sign with", "see ca.key in the Secret"};
  return Signed{pem_of(*certificate)};
}

std::optional<Span> span_of(const std::string& pem) {
  const auto certificate = read_certificate(pem);
  if (!certificate) return std::nullopt;
  return span_of(*certificate);
}

bool is_signed_by_one_of(const std::string& pem, const std::string& bundle) {
  const auto certificate = read_certificate(pem);
  const auto bio = bounded(bundle);
  bool found = false;
  while (certificate && bio && !found) {
    const Owned<X509> ca{PEM_read_bio_X509(bio.get(), nullptr, net::no_passphrase, nullptr)};
    if (!ca) break;
    found = signed_by(*certificate, ca.get());
  }
  ERR_clear_error();
  return found;
}

}  // namespace sluice::certificates
