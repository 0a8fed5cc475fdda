// The door as an API server finds it: TLS on loopback, a client that trusts the CA and nothing
// else.

#include "injector/io/webhook_door.h"

#include "common/certificates/certificates.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace sluice::injector {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

const std::vector<std::string> kNames{"injector.here.svc"};

certificates::Set made() {
  // The clock of the TLS library is the machine's.
  const TimePoint now = std::chrono::time_point_cast<Duration>(
      std::chrono::system_clock::from_time_t(std::time(nullptr)));
  return *certificates::take_step({}, certificates::Step::make_all,
                                  {.common_name = "sluice injector", .dns = kNames}, now);
}

/// A connection of an API server.
class Peer {
 public:
  Peer(const std::string& bundle, std::uint16_t port) {
    context_.add_certificate_authority(asio::buffer(bundle));
    context_.set_verify_mode(asio::ssl::verify_peer);
    stream_.emplace(io_, context_);
    stream_->set_verify_callback(asio::ssl::host_name_verification{kNames.front()});
    beast::get_lowest_layer(*stream_).connect({asio::ip::make_address("127.0.0.1"), port}, failed_);
    if (!failed_) stream_->handshake(asio::ssl::stream_base::client, failed_);
  }

  // The status and body, or what went wrong.
  std::string exchange(const http::request<http::string_body>& request) {
    if (failed_) return "no handshake";
    boost::system::error_code failed;
    http::write(*stream_, request, failed);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    http::read(*stream_, buffer, response, failed);
    if (failed) return "no answer";
    return std::to_string(response.result_int()) + " " + response.body();
  }

 private:
  asio::io_context io_;
  asio::ssl::context context_{asio::ssl::context::tls_client};
  std::optional<beast::ssl_stream<beast::tcp_stream>> stream_;
  boost::system::error_code failed_;
};

class DoorTest : public testing::Test {
 protected:
  DoorTest() {
    const auto bound = door_.listen({.host = "127.0.0.1", .port = 0, .path = {}});
    port_ = bound->port;
    EXPECT_TRUE(door_.serve_with(set_.pair()));
  }

  // Runs the door's loop on another thread while `clients` do what they do.
  void serve(const std::function<void()>& clients) {
    std::jthread loop{[this] {
      io_.run_for(std::chrono::seconds{20});
      if (io_.stopped()) return;
      door_.stop();  // so that a waiting client gets an error
      io_.run_for(std::chrono::seconds{5});
    }};
    clients();
    asio::post(io_, [this] { io_.stop(); });
    loop.join();
    io_.restart();
  }

  std::string ask(const http::request<http::string_body>& request, const std::string& bundle) {
    std::string told;
    serve([&] { told = Peer{bundle, port_}.exchange(request); });
    return told;
  }

  static http::request<http::string_body> post(const char* target, std::string body) {
    http::request<http::string_body> request{http::verb::post, target, 11, std::move(body)};
    request.set(http::field::host, kNames.front());
    request.prepare_payload();
    return request;
  }

  certificates::Set set_ = made();
  asio::io_context io_{1};
  WebhookDoor door_{
      io_,
      {.body_max = 1000, .connections_max = 2},
      [](std::string_view path, const std::string& body) {
        if (path != "/mutate") return std::optional<WebhookDoor::Answer>{};
        return std::optional{WebhookDoor::Answer{.status = 200, .body = "got " + body}};
      }};
  std::uint16_t port_ = 0;
};

TEST_F(DoorTest, AnswersAPostWithABody) {
  EXPECT_EQ(ask(post("/mutate?timeout=5s", "this"), set_.bundle()), "200 got this");
}

TEST_F(DoorTest, IsNotTrustedByAnotherCa) {
  EXPECT_EQ(ask(post("/mutate", "this"), made().bundle()), "no handshake");
}

TEST_F(DoorTest, ServesNewHandshakesWithANewPair) {
  const certificates::Set next = made();
  ASSERT_TRUE(door_.serve_with(next.pair()));
  EXPECT_EQ(ask(post("/mutate", "a"), next.bundle()), "200 got a");

  EXPECT_FALSE(door_.serve_with({.certificate = next.leaf, .key = set_.leaf_key}));
  EXPECT_EQ(ask(post("/mutate", "b"), next.bundle()), "200 got b");
}

TEST_F(DoorTest, RefusesWhatItDoesNotServe) {
  EXPECT_TRUE(ask(post("/other", ""), set_.bundle()).starts_with("404 "));
  http::request<http::string_body> get{http::verb::get, "/mutate", 11};
  EXPECT_TRUE(ask(get, set_.bundle()).starts_with("405 "));
  EXPECT_TRUE(ask(post("/mutate", std::string(1001, 'a')), set_.bundle()).starts_with("413 "));
  http::request<http::string_body> wide = post("/mutate", "a");
  wide.set("X-Wide", std::string(20'000, 'a'));
  EXPECT_TRUE(ask(wide, set_.bundle()).starts_with("431 "));
}

TEST_F(DoorTest, GivesTheRoomOfTheLongestIdleConnectionToANewOne) {
  serve([this] {
    Peer first{set_.bundle(), port_};
    Peer second{set_.bundle(), port_};
    EXPECT_EQ(second.exchange(post("/mutate", "a")), "200 got a");
    EXPECT_EQ(first.exchange(post("/mutate", "b")), "200 got b");

    Peer third{set_.bundle(), port_};

    EXPECT_EQ(third.exchange(post("/mutate", "c")), "200 got c");
    EXPECT_EQ(first.exchange(post("/mutate", "d")), "200 got d");
    EXPECT_EQ(second.exchange(post("/mutate", "e")), "no answer");
  });
}

TEST_F(DoorTest, TakesNoConnectionOnceStopped) {
  door_.stop();
  EXPECT_EQ(ask(post("/mutate", "a"), set_.bundle()), "no handshake");
}

}  // namespace
}  // namespace sluice::injector
