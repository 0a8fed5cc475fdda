#pragma once

#include "common/base/result.h"
#include "common/rpc/call.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace boost::asio {
class io_context;
}

namespace sluice::rpc {

/// Pauses between two attempts: kRetryFirst * 1.3^n, half more or less, at most kRetryMax
/// (protocols.md 1).
inline constexpr Duration kRetryFirst = std::chrono::milliseconds{100};
inline constexpr double kRetryGrowth = 1.3;
inline constexpr Duration kRetryMax = std::chrono::seconds{5};

/// The pause after `failures` attempts in a row have failed (1 = the first), for a `dice` in [0,
/// 1).
[[nodiscard]] Duration retry_pause(std::uint32_t failures, double dice);

struct ClientOptions {
  std::string target;      ///< `host:port` (a name is resolved at each attempt) or `unix:/path`
  std::string method;      ///< `/package.Service/Method`
  std::string tls_dir{};   ///< with tls.crt, tls.key, ca.crt: mutual TLS 1.3; empty: plaintext
  std::string tls_name{};  ///< the name the server's certificate must carry; empty: the target's
  /// For a method whose client sends one message only: this, as soon as a call begins, and the end
  /// of messages with it, without which some servers do not answer. Absent: nothing.
  std::optional<std::string> opening{};
  std::uint64_t seed = 0;              ///< of the pauses' scatter; give every client another
  Duration write_limit = kWriteLimit;  ///< tests only set another
};

/// One call to one target, made again whenever it fails or ends. Used on the thread of the
/// io_context only; gRPC's threads only post.
///
/// Keeps the io_context's run going while it lives, and must go before it does.
class Client {
 public:
  struct Closed {
    Ending ending;
    bool connected = false;  ///< false: this attempt never reached the server
    Duration retry_after{};  ///< the pause until the next attempt
  };

  /// All run on the io thread, never from within a method of Client. None may destroy the Client;
  /// each may call stop().
  struct Events {
    std::function<void()> on_connected;  ///< the server has taken the call; writable
    std::function<void(std::string)> on_message;
    std::function<void()> on_writable;  ///< after a write: there is room for the next
    std::function<void(const Closed&)> on_closed;
  };

  /// Problem: a file of tls_dir that cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<Client>, Problem> make(boost::asio::io_context& io,
                                                                     ClientOptions options,
                                                                     Events events);

  /// Cancels and waits for gRPC's threads to leave: a fraction of a second.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Makes the first attempt. Once.
  void start();

  /// Ends the call and makes no other; no event follows.
  void stop();

  [[nodiscard]] bool connected() const;

  /// Whether write() is allowed: connected, and no message on its way.
  [[nodiscard]] bool writable() const;

  /// Sends a message of at most kMessageBytesMax bytes. Only when writable().
  void write(std::string bytes);

  /// Gives this call up; on_closed follows with this ending, then the next attempt after a pause
  /// that grows although messages came: the peer is there, and not to our liking.
  void reconnect(Ending why);

  [[nodiscard]] const std::string& target() const;

 private:
  struct Inside;
  explicit Client(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace sluice::rpc
