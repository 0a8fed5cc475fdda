#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::net {
class TlsSessions;
}

namespace sluice::loadgen {

/// An HTTP server of a few lines that answers what a test sets, on the loop of the test and
/// a free port of loopback. It reads requests without bodies.
class ScriptedServer {
 public:
  enum class After { keep, close, reset };

  struct Reply {
    std::string bytes;  ///< sent as they are; empty with `keep`: never an answer
    After after = After::keep;
  };

  /// `script` gets each request's head, in order of arrival over all connections. With `tls`, which
  /// outlives the server, connections are under it.
  ScriptedServer(boost::asio::io_context& loop, std::function<Reply(std::string_view)> script,
                 net::TlsSessions* tls = nullptr);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::size_t connections() const;
  /// Closes everything, so that the loop can run dry.
  void stop();

  /// `body` as a whole answer of status 200 with its length.
  static std::string ok(std::string_view body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::loadgen
