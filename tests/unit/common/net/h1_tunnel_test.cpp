// Connections that switch protocols: bytes both ways, ends on both sides, and how a WebSocket goes.

#include "common/http/websocket_frames.h"
#include "tests/unit/common/net/stage.h"

namespace sluice::net::testing {
namespace {

using After = ScriptedUpstream::After;
using End = Outcome::End;
using std::string_literals::operator""s;

constexpr std::string_view kAsk =
    "GET /chat HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "
    "WebSocket\r\n\r\n";
const std::string kSwitch =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
const std::string kHi = "\x81\x02hi"s;

class TunnelTest : public Stage {
 protected:
  /// A client whose request has been answered with `answer`; what it saw of it is forgotten.
  void open(Client& client, std::string_view request = kAsk, const std::string& answer = kSwitch) {
    upstream_.play({{answer}});
    client.send(request);
    until_seen(client, "\r\n\r\n");
    head_ = client.seen();
    client.forget();
  }

  void until_heard(const std::string& text) {
    until([&] { return upstream_.received().find(text) != std::string::npos; });
  }

  std::string head_;
};

TEST_F(TunnelTest, ForwardsTheUpgradeAndItsAcceptance) {
  Client client{address_};

  open(client);

  EXPECT_NE(upstream_.received().find("Connection: Upgrade\r\nUpgrade: WebSocket\r\n"),
            std::string::npos);
  EXPECT_TRUE(head_.starts_with("HTTP/1.1 101 "));
  EXPECT_NE(head_.find("Connection: Upgrade\r\nUpgrade: websocket\r\n"), std::string::npos);
}

TEST_F(TunnelTest, CarriesBytesBothWaysAndCountsAsOneRequest) {
  Client client{address_};
  open(client);

  for (int i = 0; i < 3; ++i) {
    client.send("ping" + std::to_string(i));
    until_heard("ping" + std::to_string(i));
    upstream_.say("pong" + std::to_string(i));
    until_seen(client, "pong" + std::to_string(i));
  }

  EXPECT_EQ(gateway_.begun, 1);
  EXPECT_TRUE(gateway_.ends.empty());
  EXPECT_EQ(server_.in_flight(), 1U);
}

TEST_F(TunnelTest, DeliversBytesThatCameRightBehindTheHeads) {
  Client client{address_};

  upstream_.play({{kSwitch + "early words"}});
  client.send(std::string{kAsk} + "eager words");
  until_seen(client, "early words");
  until_heard("eager words");

  EXPECT_EQ(gateway_.begun, 1);
}

TEST_F(TunnelTest, TakesARequestWithABody) {
  Client client{address_};
  open(client,
       "POST /chat HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
       "Content-Length: 4\r\n\r\nbody");

  client.send("after");
  until_heard("bodyafter");
}

TEST_F(TunnelTest, EachSideFinishesByItself) {
  Client client{address_};
  open(client);

  upstream_.say("last");
  upstream_.finish_sending();
  until_closed(client);
  client.send("still here");
  until_heard("still here");
  EXPECT_EQ(client.seen(), "last");
  EXPECT_EQ(server_.in_flight(), 1U);

  client.finish_sending();
  until([this] { return upstream_.ended() == 1; });
  expect_quiet();
  EXPECT_EQ(gateway_.ends.back(), End::answered);
}

TEST_F(TunnelTest, ContinuesTowardsAClientThatFinishedSending) {
  Client client{address_};
  open(client);

  client.send("last");
  client.finish_sending();
  until([this] { return upstream_.ended() == 1; });
  EXPECT_TRUE(upstream_.received().ends_with("last"));
  upstream_.say("answer");
  until_seen(client, "answer");

  upstream_.hang_up(After::close);
  until_closed(client);
  expect_quiet();
}

TEST_F(TunnelTest, EndsWhenOneSideFails) {
  {
    Client client{address_};
    open(client);
    upstream_.hang_up(After::reset);
    until_closed(client);
    expect_quiet();
    EXPECT_EQ(gateway_.ends.back(), End::aborted);
  }
  Client client{address_};
  open(client);
  client.reset();
  expect_quiet();
  EXPECT_EQ(gateway_.ends.back(), End::client_gone);
}

TEST_F(TunnelTest, HoldsBackASenderWhoseReaderDoesNotRead) {
  upstream_.stop_reading_after_head();
  Client client{address_};
  open(client);

  std::size_t taken = 0;
  const std::string block(64 * 1024, 'x');
  for (int turn = 0; turn < 2000; ++turn) {
    taken += client.send(block);
    settle();
  }

  EXPECT_LT(taken, 64U << 20U);
  EXPECT_EQ(server_.in_flight(), 1U);
}

TEST_F(TunnelTest, RefusesASwitchThatWasNotRequested) {
  const std::string other =
      "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";
  const std::string plain = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const auto& [request, answer] : {std::pair{std::string{kAsk}, other}, {plain, kSwitch}}) {
    Client client{address_};

    open(client, request, answer);

    EXPECT_TRUE(head_.starts_with("HTTP/1.1 502 ")) << head_;
    EXPECT_NE(head_.find("Sluice-Error: upstream"), std::string::npos);
  }
  expect_quiet();
}

TEST_F(TunnelTest, RefusesAProtocolWithoutPrintableName) {
  Client client{address_};

  open(client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: caf\xc3\xa9\r\n\r\n");

  EXPECT_TRUE(head_.starts_with("HTTP/1.1 502 "));
  EXPECT_EQ(upstream_.requests(), 0U);
}

TEST_F(TunnelTest, TakesAnyOtherAnswerAsAnOrdinaryOne) {
  Client client{address_};
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"}});

  for (int i = 0; i < 2; ++i) {
    client.forget();
    client.send(kAsk);
    until_seen(client, "\r\n\r\nno");
  }

  EXPECT_EQ(upstream_.connections(), 1U);
  expect_quiet();
}

TEST_F(TunnelTest, SendsACloseFrameBetweenTwoWebSocketFrames) {
  Client client{address_};
  open(client);
  upstream_.say(kHi.substr(0, 3));
  until_seen(client, kHi.substr(0, 3));

  server_.close_tunnels();
  settle();
  client.take();
  EXPECT_EQ(client.seen(), kHi.substr(0, 3));
  upstream_.say(kHi.substr(3) + kHi);
  until_seen(client, std::string{http::kGoingAwayFrame});

  EXPECT_EQ(client.seen(), kHi + std::string{http::kGoingAwayFrame});
  client.send("\x88\x82reply");
  until_heard("reply");
  EXPECT_EQ(server_.in_flight(), 1U);
  upstream_.hang_up(After::close);
  until_closed(client);
  client.close();
  expect_quiet();
}

TEST_F(TunnelTest, SendsNoCloseFrameInOtherProtocols) {
  Client client{address_};
  open(client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n",
       "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: CHAT\r\n\r\n");

  server_.close_tunnels();
  upstream_.say("more");
  until_seen(client, "more");

  EXPECT_EQ(client.seen(), "more");
}

// What a client sends is no answer of the service's, and neither is the 101.
TEST_F(TunnelTest, WaitsForTheServicesFirstByteWhereTimersAreForThat) {
  gateway_.on_begin = [this](Exchange& exchange) {
    exchange.set_timeouts({std::nullopt, std::chrono::milliseconds{50}, std::nullopt, true});
    forward(exchange);
  };
  Client client{address_};
  open(client);
  client.send("asked");

  until_closed(client);

  EXPECT_EQ(client.seen(), http::kGoingAwayFrame);
  expect_quiet();
  EXPECT_EQ(gateway_.ends.back(), End::timed_out);
}

TEST_F(TunnelTest, ContinuesAfterTheServicesFirstByteWhereTimersAreForThat) {
  gateway_.on_begin = [this](Exchange& exchange) {
    exchange.set_timeouts(
        {std::chrono::milliseconds{300}, std::chrono::milliseconds{300}, std::nullopt, true});
    forward(exchange);
  };
  Client client{address_};
  open(client, kAsk, kSwitch + kHi);
  const auto begin = clock_.now();
  while (clock_.now() - begin < std::chrono::milliseconds{600}) {
    io_.run_one_for(std::chrono::milliseconds{10});
  }

  upstream_.say("still here");
  until_seen(client, "still here");
}

TEST_F(TunnelTest, ClosesAnIdleWebSocketWithAFrameAndABusyOneNotAtAll) {
  gateway_.on_begin = [this](Exchange& exchange) {
    exchange.set_timeouts({std::nullopt, std::chrono::seconds{5}, std::chrono::milliseconds{300}});
    forward(exchange);
  };
  Client client{address_};
  open(client);
  const auto begin = clock_.now();
  while (clock_.now() - begin < std::chrono::milliseconds{600}) {
    client.send("x");
    io_.run_one_for(std::chrono::milliseconds{10});
  }
  EXPECT_EQ(server_.in_flight(), 1U);

  until_closed(client);

  EXPECT_EQ(client.seen(), http::kGoingAwayFrame);
  expect_quiet();
  EXPECT_EQ(gateway_.ends.back(), End::timed_out);
}

}  // namespace
}  // namespace sluice::net::testing
