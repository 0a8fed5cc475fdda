#include "common/net/tls/tls_context.h"

#include "common/net/tls/pem.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <string_view>

namespace sluice::net {
namespace {

// Go's own choice for 1.2: forward secrecy always, authenticated encryption first.
constexpr const char* kSuites12 = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES+SHA1";

int version_number(TlsVersion version) {
  return version == TlsVersion::v1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
}

Result<bool, Problem> use_settings(SSL_CTX* context, const TlsSettings& settings) {
  TlsVersion min = settings.min;
  // A list of suites of 1.3 alone leaves no 1.2 to speak.
  if (settings.suites_1_2.empty() && !settings.suites_1_3.empty()) min = TlsVersion::v1_3;
  if (min > settings.max) {
    return Problem{"no cipher suite fits the allowed TLS versions",
                   "name a suite of the highest version allowed"};
  }
  SSL_CTX_set_min_proto_version(context, version_number(min));
  SSL_CTX_set_max_proto_version(context, version_number(settings.max));
  const std::string old_suites =
      settings.suites_1_2.empty() ? kSuites12 : joined(settings.suites_1_2, ':');
  const std::string new_suites = joined(settings.suites_1_3, ':');
  const std::string groups = joined(settings.groups, ':');
  if (SSL_CTX_set_cipher_list(context, old_suites.c_str()) != 1 ||
      (!new_suites.empty() && SSL_CTX_set_ciphersuites(context, new_suites.c_str()) != 1)) {
    return Problem{"the TLS cipher suites cannot be used: " + last_error(), "name others"};
  }
  if (!groups.empty() && SSL_CTX_set1_groups_list(context, groups.c_str()) != 1) {
    return Problem{"the TLS curves cannot be used: " + last_error(), "name others"};
  }
  return true;
}

void use_habits(SSL_CTX* context) {
  use_stream_habits(context);
  // A peer that closes without saying so inside the session has finished sending: requests tell
  // their own length, so a cut one is noticed, and a half-closed client still gets its answer.
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  // Tickets hold the state of resumable sessions, so nothing is kept here; one is enough.
  SSL_CTX_set_num_tickets(context, 1);
}

}  // namespace

TlsDigest digest_of(const TlsPair& pair) {
  set_tls_library_up();
  TlsDigest digest{};
  const Owned<EVP_MD_CTX> context{EVP_MD_CTX_new()};
  const std::uint64_t size = pair.certificate.size();  // where one half ends is part of the pair
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  EVP_DigestUpdate(context.get(), &size, sizeof size);
  EVP_DigestUpdate(context.get(), pair.certificate.data(), pair.certificate.size());
  EVP_DigestUpdate(context.get(), pair.key.data(), pair.key.size());
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return digest;
}

TlsContext::TlsContext(TlsSettings settings) : settings_{std::move(settings)} {
  for (const std::string& protocol : settings_.protocols) {
    const std::string entry = static_cast<char>(protocol.size()) + protocol;
    protocols_ += entry;
    if (protocol != "h2") protocols_not_h2_ += entry;
  }
}

TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>, Problem> TlsContext::make(TlsSettings settings,
                                                              const TlsPair& pair) {
  std::unique_ptr<TlsContext> made{new TlsContext{std::move(settings)}};
  made->socket_method_ = make_socket_method();
  if (!made->socket_method_) return Problem{"out of memory", ""};
  const auto usable = made->replace(pair);
  if (!usable) return usable.error();
  return made;
}

Result<bool, Problem> TlsContext::replace(const TlsPair& pair) {
  SslContext next{SSL_CTX_new(TLS_server_method())};
  if (!next) return Problem{"cannot set up TLS: " + last_error(), ""};
  use_habits(next.get());
  if (auto usable = use_settings(next.get(), settings_); !usable) return usable.error();
  if (auto usable = use_pair(next.get(), pair); !usable) return usable.error();
  SSL_CTX_set_alpn_select_cb(next.get(), choose_protocol, this);
  // Sessions hold the context they were made from.
  context_ = std::move(next);
  return true;
}

const std::string& TlsContext::protocols_for(SSL* ssl) const {
  if (!h2_allowed_) return protocols_;
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  return h2_allowed_(name == nullptr ? "" : name) ? protocols_ : protocols_not_h2_;
}

// The server's most wanted protocol that the client named too, else an alert.
int TlsContext::choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_size,
                                const unsigned char* offered, unsigned offered_size, void* self) {
  const std::string& ours = static_cast<const TlsContext*>(self)->protocols_for(ssl);
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(
      &found, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
      static_cast<unsigned>(ours.size()), offered, offered_size);
  if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

std::unique_ptr<TlsSession> TlsContext::make_session(int descriptor) {
  return make_tls_session(context_.get(), socket_method_.get(), descriptor);
}

}  // namespace sluice::net
