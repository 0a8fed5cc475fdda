#pragma once

#include "common/kube/access.h"
#include "common/net/byte_buffer.h"
#include "common/net/h1/h1_codec.h"
#include "common/net/stream.h"
#include "common/net/tls/tls_context.h"

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::kube::testing {

/// A request as the server read it.
struct Seen {
  std::string method;
  std::string target;
  std::string authorization;
  std::string content_type;
  std::string user_agent;
  std::string host;
  std::string body;
  std::size_t connection = 0;  ///< which, counted from 0
};

/// What it answers: bytes as they stand on the wire.
struct Reply {
  std::string bytes{};
  bool close = false;  ///< once they are sent
};

[[nodiscard]] Reply json_reply(std::string_view body, int status = 200,
                               std::string_view more_fields = {});

/// The head of an answer without an end, and a piece of one.
[[nodiscard]] Reply watch_reply(std::string_view first_events = {});
[[nodiscard]] std::string chunk(std::string_view bytes);

/// The event that ends the first telling of a watch.
inline constexpr std::string_view kAllTold =
    R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",)"
    R"("annotations":{"k8s.io/initial-events-end":"true"}}}})"
    "\n";

/// An API server of a test, on a free port of loopback and on the test's own loop.
class FakeApi {
 public:
  using Script = std::function<Reply(const Seen&)>;

  /// `tls`: null for plain HTTP; outlives this.
  FakeApi(boost::asio::io_context& io, Script script, net::TlsSessions* tls = nullptr);
  ~FakeApi();
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  [[nodiscard]] net::Address address() const;

  /// How a client reaches it in the clear, without a token.
  [[nodiscard]] Access access() const;

  [[nodiscard]] const std::vector<Seen>& seen() const { return seen_; }

  /// How many requests had this method and a target that begins so.
  [[nodiscard]] std::size_t count(std::string_view method, std::string_view target) const;

  [[nodiscard]] std::size_t connections() const { return peers_.size(); }

  /// More bytes on a connection, or its end.
  void push(std::size_t connection, std::string bytes, bool close = false);

 private:
  struct Peer;
  void accept();

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Script script_;
  net::TlsSessions* tls_;
  std::vector<Seen> seen_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

/// Runs the loop until `done` holds; false when nothing more happens for ten seconds.
[[nodiscard]] bool run_until(boost::asio::io_context& io, const std::function<bool()>& done);

}  // namespace sluice::kube::testing
