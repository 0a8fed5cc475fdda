#pragma once

#include "common/net/tls/tls.h"

#include <memory>
#include <string>

struct bio_method_st;
struct ssl_ctx_st;

namespace sluice::net {

/// Before anything else of OpenSSL is called, so that the machine's openssl.cnf is left aside: it
/// may name modules to load, which a static program cannot. Every function here sees to it itself.
void set_tls_library_up();

/// Frees what sessions are made of.
struct FreeTls {
  void operator()(ssl_ctx_st* context) const;
  void operator()(bio_method_st* method) const;
};

using SslContext = std::unique_ptr<ssl_ctx_st, FreeTls>;
using SocketMethod = std::unique_ptr<bio_method_st, FreeTls>;

/// How sessions reach their sockets: like OpenSSL's own socket BIO, but without SIGPIPE, and noting
/// whether the kernel may hold more. Null when memory ran out.
[[nodiscard]] SocketMethod make_socket_method();

/// What every context of ours has, server or client: partial writes, no buffers while idle, neither
/// renegotiation nor compression nor sessions kept.
void use_stream_habits(ssl_ctx_st* context);

/// The server that a client session expects. Empty texts: nothing is sent or checked.
struct TlsCallee {
  std::string server_name{};  ///< sent as SNI
  std::string verified{};     ///< a DNS name that the certificate must be for
  std::string also_named{};   ///< and one more that it must list, letter for letter
  std::string protocol{};     ///< offered by ALPN; several, as "h2,http/1.1", most wanted first
};

/// A session over `descriptor`, which stays the caller's; server or client as the context is.
/// `method` must outlive the session. Null when memory ran out.
[[nodiscard]] std::unique_ptr<TlsSession> make_tls_session(ssl_ctx_st* context,
                                                           const bio_method_st* method,
                                                           int descriptor,
                                                           const TlsCallee& callee = {});

}  // namespace sluice::net
