#pragma once

#include "autoscaler/io/api_routes.h"
#include "common/api/api_server.h"
#include "common/api/door_fields.h"
#include "tests/unit/autoscaler/io/fake_services.h"
#include "tests/unit/platform/process/eventually.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

namespace sluice::autoscaler {

using api::ApiServer;
using api::ApiServerLimits;
using api::door_fields;
using api::DoorField;
using api::Proof;
using boost::system::error_code;
using nlohmann::json;
using std::chrono::milliseconds;
using LocalSocket = boost::asio::local::stream_protocol::socket;

/// A client that keeps all it receives.
class Peer {
 public:
  Peer(boost::asio::io_context& loop, const std::filesystem::path& path) : socket_(loop) {
    error_code failed;
    socket_.connect(path.string(), failed);
    ended = static_cast<bool>(failed);
    if (!ended) receive();
  }

  // A peer that was refused may find its end closed before it has asked.
  void send(const std::string& text) {
    error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(text), ignored);
  }

  void leave() {
    error_code ignored;
    socket_.close(ignored);
  }

  [[nodiscard]] bool has(std::string_view text) const {
    return received.find(text) != std::string::npos;
  }

  [[nodiscard]] int status() const {
    return received.size() < 12 ? 0 : std::atoi(received.c_str() + 9);
  }

  [[nodiscard]] std::string body() const {
    const std::size_t end = received.find("\r\n\r\n");
    return end == std::string::npos ? std::string{} : received.substr(end + 4);
  }

  std::string received;
  bool ended = false;

 private:
  void receive() {
    socket_.async_read_some(boost::asio::buffer(piece_), [this](error_code failed, std::size_t n) {
      if (failed == boost::asio::error::operation_aborted) return;
      received.append(piece_.data(), n);
      ended = static_cast<bool>(failed);
      if (!ended) receive();
    });
  }

  LocalSocket socket_;
  std::array<char, 4096> piece_{};
};

/// The API over its real socket: every wait runs the loop that the server runs on, until
/// what is waited for holds or a deadline passes.
class ApiOnItsSocket : public testing::Test {
 protected:
  void serve(ApiServerLimits limits = {}) {
    server_.emplace(loop_, routes_, limits);
    ASSERT_TRUE(server_->listen(address(), Proof::socket));
  }

  // From now on the client comes through the front door with that proof.
  void show(Proof proof) {
    path_ = directory_.path() / (proof == Proof::none ? "any.sock" : "own.sock");
    ASSERT_TRUE(server_->listen(address(), proof));
  }

  [[nodiscard]] net::Address address() const {
    net::Address at;
    at.path = path_.string();
    return at;
  }

  bool until(const std::function<bool()>& holds) {
    return local::eventually(holds, [this] {
      loop_.restart();
      loop_.run_one_for(milliseconds{50});
    });
  }

  std::unique_ptr<Peer> connect() { return std::make_unique<Peer>(loop_, path_); }

  // One request on a connection of its own, answered to the connection's end.
  std::unique_ptr<Peer> ask(const std::string& method, const std::string& target,
                            const std::string& body = "", const std::string& fields = "") {
    auto peer = connect();
    peer->send(method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + fields +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_TRUE(until([&] { return peer->ended; })) << method << " " << target;
    return peer;
  }

  std::unique_ptr<Peer> open(const std::string& target, const std::string& fields = "") {
    auto peer = connect();
    peer->send("GET " + target + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
    EXPECT_TRUE(until([&] { return peer->has("\r\n\r\n"); })) << target;
    return peer;
  }

  void publish(const std::string& type, int number) {
    engine_.ring.publish({{"type", type}, {"service", "app"}, {"n", number}});
  }

  local::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "api.sock";
  boost::asio::io_context loop_;
  FakeServices engine_;
  Clock clock_;
  ApiRoutes routes_{clock_, engine_, &engine_, [](const api::ApiRequest&) { return std::nullopt; }};
  std::optional<ApiServer> server_;
};

}  // namespace sluice::autoscaler
