#include "tests/unit/common/net/tls_peer.h"

#include "common/base/check.h"
#include "common/net/tls/tls_session.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::net::testing {
namespace {

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text{bytes, static_cast<std::size_t>(size)};
  BIO_free(bio);
  return text;
}

std::string common_name(X509_NAME* name) {
  char text[256] = "";
  X509_NAME_get_text_by_NID(name, NID_commonName, text, sizeof text);
  return text;
}

// Valid for a day; issuer and signature are still to come.
X509* certificate_for(EVP_PKEY* key, const std::string& name) {
  X509* const certificate = X509_new();
  CHECK(key != nullptr && certificate != nullptr);
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 24L * 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName, MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.data()),
                             static_cast<int>(name.size()), -1, 0);
  return certificate;
}

void extend(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

TlsPair pair_of(X509* certificate, EVP_PKEY* key) {
  BIO* const certificate_text = BIO_new(BIO_s_mem());
  BIO* const key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(certificate_text), text_of(key_text)};
}

}  // namespace

TlsPair make_pair_for(const std::string& name) {
  set_tls_library_up();
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = certificate_for(key, name);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
  TlsPair pair = pair_of(certificate, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pair;
}

TlsAuthority::TlsAuthority(const std::string& name) {
  set_tls_library_up();
  key_ = EVP_EC_gen("P-256");
  certificate_ = certificate_for(key_, name);
  X509_set_issuer_name(certificate_, X509_get_subject_name(certificate_));
  extend(certificate_, NID_basic_constraints, "critical,CA:TRUE");
  CHECK(X509_sign(certificate_, key_, EVP_sha256()) > 0);
  pem_ = pair_of(certificate_, key_).certificate;
}

TlsAuthority::~TlsAuthority() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

TlsPair TlsAuthority::issue(const std::string& names) const {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = certificate_for(key, "pod");
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate_));
  extend(certificate, NID_subject_alt_name, names);
  CHECK(X509_sign(certificate, key_, EVP_sha256()) > 0);
  TlsPair pair = pair_of(certificate, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pair;
}

void TlsClient::Release::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

void TlsClient::Release::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

TlsClient::TlsClient(int descriptor, const TlsOffer& offer) : fd_{descriptor} {
  set_tls_library_up();
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_mode(context_.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_max_proto_version(context_.get(),
                                offer.max == TlsVersion::v1_2 ? TLS1_2_VERSION : TLS1_3_VERSION);
  if (!offer.suites_1_2.empty()) {
    SSL_CTX_set_cipher_list(context_.get(), offer.suites_1_2.c_str());
  }
  if (!offer.groups.empty()) SSL_CTX_set1_groups_list(context_.get(), offer.groups.c_str());
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_fd(ssl_.get(), fd_);
  SSL_set_connect_state(ssl_.get());
  if (!offer.protocols.empty()) {
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(offer.protocols.data()),
                        static_cast<unsigned>(offer.protocols.size()));
  }
}

TlsClient::~TlsClient() {
  ::close(fd_);
}

bool TlsClient::went_on(int result) {
  if (result > 0) return true;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return false;
    case SSL_ERROR_ZERO_RETURN:
      ended_ = true;
      return false;
    default:
      failed_ = true;
      return false;
  }
}

bool TlsClient::shake() {
  ERR_clear_error();
  return !failed_ && went_on(SSL_do_handshake(ssl_.get()));
}

std::size_t TlsClient::send(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    ERR_clear_error();
    std::size_t sent = 0;
    if (!went_on(SSL_write_ex(ssl_.get(), bytes.data() + done, bytes.size() - done, &sent))) break;
    done += sent;
  }
  return done;
}

void TlsClient::take(std::size_t limit) {
  char buffer[4096];
  const std::size_t most = limit == std::string::npos ? limit : seen_.size() + limit;
  while (seen_.size() < most && !over()) {
    ERR_clear_error();
    std::size_t got = 0;
    if (!went_on(SSL_read_ex(ssl_.get(), buffer, sizeof buffer, &got))) return;
    seen_.append(buffer, got);
  }
}

void TlsClient::finish_sending() {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

void TlsClient::shut_socket_down() {
  ::shutdown(fd_, SHUT_WR);
}

void TlsClient::renew_keys() {
  SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED);
}

std::string TlsClient::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string TlsClient::version() const {
  return SSL_get_version(ssl_.get());
}

std::string TlsClient::suite() const {
  return SSL_get_cipher_name(ssl_.get());
}

std::string TlsClient::subject() const {
  X509* const certificate = SSL_get1_peer_certificate(ssl_.get());
  if (certificate == nullptr) return {};
  std::string name = common_name(X509_get_subject_name(certificate));
  X509_free(certificate);
  return name;
}

int connected_to(const Address& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace sluice::net::testing
