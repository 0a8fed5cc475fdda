#pragma once

#include "common/rpc/client.h"
#include "common/rpc/server.h"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::rpc::testing {

inline constexpr const char* kMethod = "/test.Stream/Talk";

/// Runs handlers until `done`; false when that takes longer than any test may.
[[nodiscard]] bool run_until(boost::asio::io_context& io, const std::function<bool()>& done);

/// A call that a server accepted, and its result.
struct TakenCall {
  std::unique_ptr<Call> call;
  std::vector<std::string> messages;
  int writables = 0;
  std::optional<Ending> ending;
};

/// A server that keeps its calls.
class ServerStage {
 public:
  explicit ServerStage(boost::asio::io_context& io, ServerOptions options = {});

  [[nodiscard]] std::string address() const { return address_.text(); }

  [[nodiscard]] std::uint16_t port() const { return address_.port; }

  [[nodiscard]] Server& server() { return *server_; }

  /// Ends it, with whatever is open.
  void kill() { server_.reset(); }

  std::vector<std::unique_ptr<TakenCall>> calls;

 private:
  net::Address address_;
  std::unique_ptr<Server> server_;
};

/// A client that records its events.
class ClientStage {
 public:
  ClientStage(boost::asio::io_context& io, ClientOptions options);

  [[nodiscard]] Client& client() { return *client_; }

  void kill() { client_.reset(); }

  int connected = 0;
  int writables = 0;
  std::vector<std::string> messages;
  std::vector<Client::Closed> closed;
  std::function<void()> on_connected;
  std::function<void(const std::string&)> on_message;

 private:
  std::unique_ptr<Client> client_;
};

/// An empty directory that goes with its owner.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Replaces a file as a whole.
  void write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace sluice::rpc::testing
