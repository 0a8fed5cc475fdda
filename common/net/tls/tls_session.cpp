#include "common/net/tls/tls_session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

namespace sluice::net {
namespace {

constexpr std::size_t kRecordMax = SSL3_RT_MAX_PLAIN_LENGTH;

// The far end of a session: its socket, and what is known about it.
struct Wire {
  int descriptor = -1;
  bool may_have_more = true;  // the last receive filled all it was given
  bool ended = false;
  std::array<char, 3> start{};  // the connection's first bytes, for telling plain HTTP
  std::size_t started = 0;
};

int wire_read(BIO* bio, char* to, int size) {
  auto& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t got = -1;
  do {
    got = ::recv(wire.descriptor, to, static_cast<std::size_t>(size), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  wire.may_have_more = got == size;
  wire.ended = got == 0;
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) BIO_set_retry_read(bio);
    return -1;
  }
  const std::size_t noted =
      std::min(wire.start.size() - wire.started, static_cast<std::size_t>(got));
  std::memcpy(wire.start.data() + wire.started, to, noted);
  wire.started += noted;
  return static_cast<int>(got);
}

int wire_write(BIO* bio, const char* from, int size) {
  auto& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t sent = -1;
  do {
    sent =
        ::send(wire.descriptor, from, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

long wire_control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) return static_cast<Wire*>(BIO_get_data(bio))->ended ? 1 : 0;
  return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP ? 1 : 0;
}

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

// RFC 7301: each name behind its length.
std::string on_the_wire(std::string_view protocols) {
  std::string list;
  while (!protocols.empty()) {
    const std::string_view name = protocols.substr(0, protocols.find(','));
    list += static_cast<char>(name.size());
    list += name;
    protocols.remove_prefix(std::min(name.size() + 1, protocols.size()));
  }
  return list;
}

class OpenSslSession final : public TlsSession {
 public:
  explicit OpenSslSession(int descriptor) { wire_.descriptor = descriptor; }

  [[nodiscard]] bool open(SSL_CTX* context, const BIO_METHOD* method, const TlsCallee& callee) {
    ssl_.reset(SSL_new(context));
    BIO* const bio = ssl_ ? BIO_new(method) : nullptr;
    if (bio == nullptr) return false;
    BIO_set_data(bio, &wire_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    if (SSL_is_server(ssl_.get()) != 0) {
      SSL_set_accept_state(ssl_.get());
      return true;
    }
    SSL_set_connect_state(ssl_.get());
    return call(callee);
  }

  TlsStep::State handshake() override {
    ERR_clear_error();
    TlsStep::State state = state_after(SSL_do_handshake(ssl_.get()));
    if (state == TlsStep::State::done && !names_required()) {
      problem_ = "the certificate does not name " + also_named_;
      state = TlsStep::State::failed;
    } else if (state == TlsStep::State::failed || state == TlsStep::State::ended) {
      problem_ = reason();
    }
    return state;
  }

  TlsStep read(char* to, std::size_t size) override {
    TlsStep step{TlsStep::State::done, 0};
    do {
      ERR_clear_error();
      std::size_t got = 0;
      const int result = SSL_read_ex(ssl_.get(), to + step.bytes, size - step.bytes, &got);
      if (result <= 0) {
        const TlsStep::State state = state_after(result);
        over_ = state == TlsStep::State::ended || state == TlsStep::State::failed;
        if (state == TlsStep::State::failed) problem_ = last_error("the connection failed");
        // What came before an end or a failure is delivered first: both repeat themselves.
        if (step.bytes == 0) step.state = state;
        return step;
      }
      step.bytes += got;
    } while (step.bytes < size && SSL_has_pending(ssl_.get()) != 0);
    return step;
  }

  TlsStep write(std::string_view first, std::string_view second) override {
    TlsStep step{TlsStep::State::done, 0};
    while (!first.empty() || !second.empty()) {
      ERR_clear_error();
      std::size_t sent = 0;
      const int result = write_record(first, second, sent);
      if (result <= 0) {
        TlsStep::State state = state_after(result);
        // After the peer's own end the library takes a socket that is gone for that end again.
        if (state == TlsStep::State::ended) state = TlsStep::State::failed;
        if (step.bytes == 0 || state == TlsStep::State::failed) step.state = state;
        return step;
      }
      step.bytes += sent;
      const std::size_t of_first = std::min(sent, first.size());
      first.remove_prefix(of_first);
      second.remove_prefix(sent - of_first);
    }
    return step;
  }

  [[nodiscard]] bool may_have_more() const override {
    return over_ || wire_.may_have_more || SSL_has_pending(ssl_.get()) != 0;
  }

  void close_notify() override {
    if (SSL_is_init_finished(ssl_.get()) == 0) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }

  [[nodiscard]] std::string_view protocol() const override {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

  [[nodiscard]] std::string problem() const override { return problem_; }

  [[nodiscard]] bool is_plain_http() const override {
    // A handshake record begins with byte 22; a method is in capitals.
    return wire_.started == wire_.start.size() &&
           std::all_of(wire_.start.begin(), wire_.start.end(),
                       [](char byte) { return byte >= 'A' && byte <= 'Z'; });
  }

 private:
  [[nodiscard]] bool call(const TlsCallee& callee) {
    SSL* const ssl = ssl_.get();
    also_named_ = callee.also_named;
    if (!callee.server_name.empty() &&
        SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 const_cast<char*>(callee.server_name.c_str())) != 1) {
      return false;
    }
    if (!callee.verified.empty()) {
      // The common name has been no name of a server for long.
      SSL_set_hostflags(ssl, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
      if (SSL_set1_host(ssl, callee.verified.c_str()) != 1) return false;
    }
    if (callee.protocol.empty()) return true;
    const std::string offered = on_the_wire(callee.protocol);
    return SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(offered.data()),
                               static_cast<unsigned>(offered.size())) == 0;
  }

  // A name to be listed as it is: no wildcard stands for it.
  [[nodiscard]] bool names_required() const {
    if (also_named_.empty()) return true;
    X509* const leaf = SSL_get0_peer_certificate(ssl_.get());
    return leaf != nullptr &&
           X509_check_host(leaf, also_named_.data(), also_named_.size(),
                           X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS,
                           nullptr) == 1;
  }

  [[nodiscard]] std::string reason() const {
    const long verified = SSL_get_verify_result(ssl_.get());
    if (verified == X509_V_ERR_HOSTNAME_MISMATCH) {
      return "the certificate does not match the requested name";
    }
    if (verified != X509_V_OK) {
      return std::string{"the certificate is rejected: "} + X509_verify_cert_error_string(verified);
    }
    if (wire_.ended) return "the peer closed the connection during the handshake";
    if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_WRONG_VERSION_NUMBER) {
      return "the peer does not speak TLS";
    }
    return last_error("the connection failed during the handshake");
  }

  // `otherwise`: where the library knows no reason.
  static std::string last_error(const char* otherwise) {
    const unsigned long code = ERR_peek_last_error();
    const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
    return text == nullptr ? otherwise : text;
  }

  // One record from the front of both parts. A head and the beginning of its body share a record:
  // copying costs less than encrypting and framing twice. A record that has to wait is offered
  // again with at least as many bytes, since it is cut by the same rule from the same bytes or
  // more; and never with more than a record, or the library would keep progress to itself.
  int write_record(std::string_view first, std::string_view second, std::size_t& sent) {
    if (first.empty()) std::swap(first, second);
    if (second.empty() || first.size() >= kRecordMax) {
      return SSL_write_ex(ssl_.get(), first.data(), std::min(first.size(), kRecordMax), &sent);
    }
    std::array<char, kRecordMax> record;
    const std::size_t rest = std::min(second.size(), kRecordMax - first.size());
    std::memcpy(record.data(), first.data(), first.size());
    std::memcpy(record.data() + first.size(), second.data(), rest);
    return SSL_write_ex(ssl_.get(), record.data(), first.size() + rest, &sent);
  }

  TlsStep::State state_after(int result) {
    if (result > 0) return TlsStep::State::done;
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return TlsStep::State::want_read;
      case SSL_ERROR_WANT_WRITE:
        return TlsStep::State::want_write;
      case SSL_ERROR_ZERO_RETURN:
        return TlsStep::State::ended;
      default:
        return TlsStep::State::failed;
    }
  }

  Wire wire_;
  std::string also_named_;
  std::string problem_;
  bool over_ = false;  // a read has met the end, of which the socket may never tell
  std::unique_ptr<SSL, FreeSsl> ssl_;
};

}  // namespace

void set_tls_library_up() {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

void FreeTls::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

void FreeTls::operator()(BIO_METHOD* method) const {
  BIO_meth_free(method);
}

SocketMethod make_socket_method() {
  set_tls_library_up();
  SocketMethod method{BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket")};
  if (!method) return nullptr;
  BIO_meth_set_read(method.get(), wire_read);
  BIO_meth_set_write(method.get(), wire_write);
  BIO_meth_set_ctrl(method.get(), wire_control);
  return method;
}

void use_stream_habits(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // One receive brings header and body of a record, and shows when the kernel has no more. The
  // buffer is released whenever it is empty.
  SSL_CTX_set_read_ahead(context, 1);
}

std::unique_ptr<TlsSession> make_tls_session(SSL_CTX* context, const BIO_METHOD* method,
                                             int descriptor, const TlsCallee& callee) {
  auto session = std::make_unique<OpenSslSession>(descriptor);
  if (!session->open(context, method, callee)) return nullptr;
  return session;
}

}  // namespace sluice::net
