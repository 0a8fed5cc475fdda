#pragma once

#include "common/base/result.h"
#include "common/net/address.h"
#include "common/net/tls/tls_context.h"
#include "common/time/time_point.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::injector {

/// HTTPS for an API server that sends a POST with a body. HTTP/1.1: API servers speak it to
/// webhooks that offer no h2. Belongs to one thread.
class WebhookDoor {
 public:
  struct Limits {
    std::size_t body_max = 3 * 1024 * 1024;  ///< what etcd holds at most is half of it; 413 above
    std::size_t head_max = 16 * 1024;        ///< 431 above
    std::size_t connections_max = 256;  ///< the longest idle goes for one more; none idle: it waits
    /// For the handshake, and from a request's first byte to the end of the answer: an API server
    /// waits five seconds.
    Duration request = std::chrono::seconds{10};
    Duration idle = std::chrono::seconds{90};  ///< between two requests; API servers close first
  };

  struct Answer {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
  };

  /// Answers a POST to `path`; nothing: there is no such path.
  using Respond =
      std::function<std::optional<Answer>(std::string_view path, const std::string& body)>;

  WebhookDoor(boost::asio::io_context& io, Limits limits, Respond respond);
  ~WebhookDoor();
  WebhookDoor(const WebhookDoor&) = delete;
  WebhookDoor& operator=(const WebhookDoor&) = delete;

  /// Starts to listen; returns the address in force. Without a certificate connections are closed.
  [[nodiscard]] Result<net::Address, Problem> listen(const net::Address& address);

  /// New handshakes are made with `pair` from now on; with a problem nothing has changed.
  [[nodiscard]] Result<bool, Problem> serve_with(const net::TlsPair& pair);

  [[nodiscard]] bool has_certificate() const;

  /// Accepts no new connections; those that serve a request end with its answer, the others now.
  void stop();

  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sluice::injector
