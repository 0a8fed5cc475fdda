// How requests end otherwise: clients that leave, upstreams that fail, timers, drains.

#include "tests/unit/common/net/stage.h"

#include <unistd.h>
#include <utility>

namespace sluice::net::testing {
namespace {

using After = ScriptedUpstream::After;
using End = Outcome::End;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kPost =
    "POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nthe first bytes";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

class ExchangeEndTest : public Stage {
 protected:
  explicit ExchangeEndTest(const ServerLimits& limits = stage_limits()) : Stage{limits} {}

  void hold_all() {
    gateway_.on_begin = [this](Exchange& exchange) {
      held_ = &exchange;
      exchange.hold();
    };
  }

  void expect_gone_after(const Address& address, std::string_view request, bool by_reset) {
    hold_all();
    Client client{address};
    client.send(request);
    until([this] { return server_.in_flight() == 1; });
    settle();
    if (by_reset) {
      client.reset();
    } else {
      client.close();
    }
    expect_quiet();
    EXPECT_EQ(gateway_.ends.back(), End::client_gone);
    EXPECT_EQ(server_.connections(), 0U);
  }

  Exchange* held_ = nullptr;
};

ServerLimits limits_with_room_for(std::size_t connections) {
  ServerLimits limits = stage_limits();
  limits.roomy_connections = connections;
  return limits;
}

// What waits behaves alike with a buffer at hand and without one.
class HeldTest : public ExchangeEndTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  HeldTest() : ExchangeEndTest{limits_with_room_for(GetParam())} {}
};

INSTANTIATE_TEST_SUITE_P(RoomyAndLean, HeldTest, ::testing::Values(1024, 0));

TEST_P(HeldTest, DetectsThatAHeldClientLeft) {
  Address unix_address;
  unix_address.path = ::testing::TempDir() + "sluice-exchange-" + std::to_string(::getpid());
  const auto bound = server_.listen(unix_address);
  ASSERT_TRUE(bound);
  const std::string pipelined = std::string{kGet} + std::string{kGet};

  for (const Address& address : {address_, unix_address}) {
    for (const std::string_view request : {kGet, kPost, std::string_view{pipelined}}) {
      for (const bool by_reset : {false, true}) expect_gone_after(address, request, by_reset);
    }
  }
}

TEST_P(HeldTest, AnswersAHeldClientThatOnlyFinishedSending) {
  hold_all();
  upstream_.play({{kHello}});
  Client client{address_};

  client.send(kGet);
  client.finish_sending();
  until([this] { return held_ != nullptr; });
  settle();
  forward(*held_);
  until_closed(client);

  EXPECT_TRUE(client.seen().ends_with("hello"));
  expect_quiet();
}

TEST_P(HeldTest, ContinuesWithItsConnection) {
  hold_all();
  upstream_.play({{kHello}});
  Client client{address_};

  for (int i = 0; i < 3; ++i) {
    held_ = nullptr;
    client.send(kGet);
    until([this] { return held_ != nullptr; });
    settle();
    forward(*held_);
    until_seen(client, "hello");
    client.forget();
  }

  expect_quiet();
  EXPECT_EQ(server_.connections(), 1U);
}

TEST(Held, KeepsNoBufferAmongManyConnections) {
  boost::asio::io_context io{1};
  const Clock clock;
  ScriptedGateway gateway;
  std::size_t memory = 0;
  gateway.on_begin = [&memory](Exchange& exchange) {
    exchange.hold();
    memory = exchange.memory();
  };
  ProxyServer server{io, clock, gateway, limits_with_room_for(0)};
  const auto bound = server.listen(*parse_address("127.0.0.1:0"));
  ASSERT_TRUE(bound);
  Client client{*bound};
  client.send(kGet);
  for (int turn = 0; turn < 2000 && memory == 0; ++turn) {
    io.run_one_for(std::chrono::milliseconds{10});
  }

  EXPECT_GT(memory, 0U);
  EXPECT_LT(memory, 3U * 1024U);
  io.stop();
}

TEST_F(ExchangeEndTest, CancelsTheUpstreamOfAClientThatLeft) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"}});
  Client client{address_};

  client.send(kGet);
  until_seen(client, "hello");
  client.reset();
  expect_quiet();

  EXPECT_EQ(gateway_.ends.back(), End::client_gone);
  EXPECT_EQ(pool_.idle(), 0U);
}

TEST_P(HeldTest, SendsAHeldUploadOnWhole) {
  hold_all();
  upstream_.play({{kHello}});
  Client client{address_};

  client.send("POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
  until([this] { return held_ != nullptr; });
  settle();
  forward(*held_);
  until_seen(client, "hello");

  EXPECT_TRUE(upstream_.received().ends_with("\r\n\r\nbody"));
  expect_quiet();
}

TEST_F(ExchangeEndTest, RetriesOnAnotherPoolWhenNothingListens) {
  Address vacant = upstream_.address();
  {
    boost::asio::io_context other;
    const ScriptedUpstream gone{other};
    vacant = gone.address();
  }
  UpstreamPool dead{io_, vacant, UpstreamLimits{}};
  gateway_.on_begin = [&](Exchange& exchange) { exchange.forward(dead, {}); };
  gateway_.on_failure = [&](Exchange& exchange) {
    forward(exchange);
    return true;
  };
  upstream_.play({{kHello}});
  Client client{address_};

  client.send("POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
  until_seen(client, "hello");

  EXPECT_EQ(upstream_.requests(), 1U);
  EXPECT_TRUE(upstream_.received().ends_with("body"));
  expect_quiet();
}

TEST_F(ExchangeEndTest, DropsAResponseThatTheGatewayRetries) {
  upstream_.play({{"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"}, {kHello}});
  bool again = true;
  gateway_.on_response = [&](Exchange& exchange, const http::ResponseHead&) {
    if (!std::exchange(again, false)) return ResponseVerdict::forward;
    forward(exchange);
    return ResponseVerdict::retried;
  };
  Client client{address_};

  client.send(kGet);
  until_seen(client, "hello");

  EXPECT_EQ(client.seen().find("503"), std::string::npos);
  EXPECT_EQ(gateway_.begun, 1);
  expect_quiet();
}

TEST_F(ExchangeEndTest, RepeatsAGetOnAStaleConnection) {
  upstream_.play({{kHello}, {"", After::close}, {kHello}});
  Client client{address_};
  client.send(kGet);
  until_seen(client, "hello");
  client.forget();

  client.send(kGet);
  until_seen(client, "hello");

  EXPECT_EQ(upstream_.requests(), 3U);
  expect_quiet();
}

TEST_F(ExchangeEndTest, NeverRepeatsAnUpload) {
  upstream_.play({{kHello}, {"", After::close}, {kHello}});
  Client client{address_};
  client.send(kGet);
  until_seen(client, "hello");
  client.forget();

  client.send("POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
  until_seen(client, "EOF\n");

  EXPECT_TRUE(client.seen().starts_with("HTTP/1.1 502 "));
  EXPECT_EQ(upstream_.requests(), 2U);
  expect_quiet();
}

TEST_F(ExchangeEndTest, ReportsToTheClientWhichTimerFired) {
  upstream_.play({{""}});
  gateway_.on_begin = [this](Exchange& exchange) {
    exchange.set_timeouts({std::nullopt, Duration{0}, std::nullopt});
    forward(exchange);
  };
  Client client{address_};

  client.send(kGet);
  until_seen(client, "request timeout");

  EXPECT_TRUE(client.seen().starts_with("HTTP/1.1 504 "));
  EXPECT_NE(client.seen().find("timer=response-start"), std::string::npos);
  expect_quiet();
  EXPECT_EQ(gateway_.ends.back(), End::timed_out);
}

TEST_F(ExchangeEndTest, CutsAResponseThatHasBegunWhenATimerFires) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}});
  gateway_.on_response = [](Exchange& exchange, const http::ResponseHead&) {
    exchange.set_timeouts({std::nullopt, std::nullopt, std::chrono::milliseconds{50}});
    return ResponseVerdict::forward;
  };
  Client client{address_};

  client.send(kGet);
  until_closed(client);

  EXPECT_TRUE(client.seen().ends_with("5\r\nhello\r\n"));
  EXPECT_EQ(gateway_.ends.back(), End::timed_out);
}

TEST_F(ExchangeEndTest, AnswersTheNextRequestOfAnIdleConnectionWhileClosing) {
  upstream_.play({{kHello}});
  Client kept{address_};
  Client fresh{address_};
  kept.send(kGet);
  until_seen(kept, "hello");
  until([this] { return server_.connections() == 2; });

  server_.close_after_responses();
  settle();
  for (Client* client : {&kept, &fresh}) {
    client->forget();
    client->send(kGet);
    until_closed(*client);

    EXPECT_NE(client->seen().find("Connection: close"), std::string::npos);
    EXPECT_TRUE(client->seen().ends_with("hello"));
  }
  EXPECT_EQ(server_.connections(), 0U);
}

TEST_F(ExchangeEndTest, ClosesIdleConnectionsOnly) {
  hold_all();
  Client idle{address_};
  Client busy{address_};
  busy.send(kGet);
  until([this] { return held_ != nullptr && server_.connections() == 2; });

  server_.close_idle();
  until_closed(idle);
  held_->respond(http::plain_response(200, "held\n"));
  until_seen(busy, "held");

  expect_quiet();
}

TEST_F(ExchangeEndTest, ClosesEveryConnectionInAnyState) {
  hold_all();
  Client idle{address_};
  Client busy{address_};
  busy.send(kGet);
  until([this] { return held_ != nullptr && server_.connections() == 2; });

  server_.close_all();
  until_closed(idle);
  until_closed(busy);
  settle();

  expect_quiet();
  EXPECT_EQ(server_.connections(), 0U);
}

}  // namespace
}  // namespace sluice::net::testing
