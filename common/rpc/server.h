#pragma once

#include "common/base/result.h"
#include "common/net/address.h"
#include "common/rpc/admission.h"
#include "common/rpc/call.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::rpc {

/// A connection without a call ends after that; one with a call lives as long as the call.
inline constexpr Duration kIdleLimit = std::chrono::seconds{30};

struct ServerOptions {
  std::string address;  ///< `host:port`, `:port` or `unix:/path`; port 0 = any free one
  std::vector<std::string> methods;  ///< the paths served, `/package.Service/Method`
  std::string tls_dir{};  ///< with tls.crt, tls.key, ca.crt: mutual TLS 1.3; empty: plaintext
  /// Over TLS, which roles may call which method; without an entry any certified caller may.
  std::map<std::string, Caller> callers{};
  /// With tls_dir on a TCP address: whether a connection in plain text may come in, by its IP
  /// address; it answers later, on the io thread. Empty: none may.
  std::function<void(const std::string& ip, std::function<void(bool)> answer)> admit_plain{};
  std::vector<std::string> plain_methods{};  ///< that connections let in so may call
  std::size_t calls_max = 1000;              ///< more are refused with RESOURCE_EXHAUSTED
  Duration write_limit = kWriteLimit;        ///< tests only set another
  Duration idle_limit = kIdleLimit;          ///< likewise
};

/// A gRPC server whose calls are byte streams on our io thread. gRPC's threads only post. It also
/// answers grpc.health.v1.Health; every other method is UNIMPLEMENTED.
///
/// Keeps the io_context's run going while it lives, and must go before it does.
class Server {
 public:
  /// Takes over a new call; dropping it refuses it. On the io thread.
  using Opened = std::function<void(std::unique_ptr<Call>)>;

  /// A connection or a call was refused because its identity is not proven; `peer` as Call::peer(),
  /// or `unknown` for a handshake that failed. On the io thread.
  using Turned = std::function<void(const std::string& peer, const Refused&)>;

  Server(boost::asio::io_context& io, Opened opened, Turned turned = {});

  /// Ends every call with UNAVAILABLE and waits for gRPC's threads to leave: a fraction of a
  /// second.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Binds and serves. Returns the address in force, with the real port.
  /// The problem names the address, or the file of tls_dir that cannot be read.
  [[nodiscard]] Result<net::Address, Problem> open(const ServerOptions& options);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace sluice::rpc
