#pragma once

#include "common/net/tls.h"

#include <memory>
#include <string>

struct bio_method_st;
struct ssl_ctx_st;

namespace sluice::net {

/// Before anything else of OpenSSL is called, so that the machine's openssl.cnf is left aside: it may
/// name modules to load, which a static program cannot. Every function here sees to it itself.
void set_tls_library_up();

/// How sessions reach their sockets: like OpenSSL's own socket BIO, but without SIGPIPE, and noting
/// whether the kernel may hold more. To be freed with BIO_meth_free; null when memory ran out.
[[nodiscard]] bio_method_st* make_socket_method();

/// A session over `descriptor`, which stays the caller's; server or client as the context is. A
/// client sends `server_name` as SNI unless it is empty. `method` must outlive the session. Null
/// when memory ran out.
[[nodiscard]] std::unique_ptr<TlsSession> make_tls_session(ssl_ctx_st* context,
                                                           const bio_method_st* method,
                                                           int descriptor,
                                                           const std::string& server_name = {});

}  // namespace sluice::net
