// TLS connections of a server over loopback, from the handshake to the end.

#include "tests/unit/common/net/stage.h"
#include "tests/unit/common/net/tls_peer.h"

#include <sys/socket.h>

namespace sluice::net::testing {
namespace {

using After = ScriptedUpstream::After;

const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

// A base that comes first, since the server's sessions need their context to the last.
struct TlsOfServer {
  TlsOfServer() { context = *TlsContext::make({}, make_pair_for("first")); }

  std::unique_ptr<TlsContext> context;
};

class TlsServerTest : protected TlsOfServer, public Stage {
 protected:
  TlsServerTest() {
    const auto bound = server_.listen(*parse_address("127.0.0.1:0"), context.get());
    if (bound) tls_address_ = *bound;
  }

  std::unique_ptr<TlsClient> met(const TlsOffer& offer = {}) {
    auto client = std::make_unique<TlsClient>(connected_to(tls_address_), offer);
    until([&] { return client->shake() || client->failed(); });
    return client;
  }

  void until_seen(TlsClient& client, const std::string& text) {
    until([&] {
      client.take();
      return client.seen().find(text) != std::string::npos;
    });
  }

  void until_over(TlsClient& client) {
    until([&] {
      client.take();
      return client.over();
    });
  }

  Address tls_address_;
};

TEST_F(TlsServerTest, AnswersOneRequestAfterTheOther) {
  upstream_.play({{kHello}});
  const auto client = met();

  client->send(kGet);
  until_seen(*client, "hello");
  client->send(kGet);
  until([&] {
    client->take();
    return client->seen().size() == 2 * kHello.size();
  });

  expect_quiet();
  EXPECT_EQ(upstream_.requests(), 2U);
}

TEST_F(TlsServerTest, UsesHttp1WithClientsThatNameNoProtocol) {
  upstream_.play({{kHello}});
  const auto client = met();

  client->send(kGet);
  until_seen(*client, "hello");

  EXPECT_EQ(client->protocol(), "");
}

TEST_F(TlsServerTest, CarriesLargeBodiesBothWays) {
  constexpr std::size_t kBytes = 3'000'000;
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n" +
                   std::string(kBytes, 'r')}});
  const auto client = met();
  const std::string request =
      "POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n" +
      std::string(kBytes, 'u');

  std::size_t sent = 0;
  until([&] {
    sent += client->send(std::string_view{request}.substr(sent));
    client->take();
    return sent == request.size() && client->seen().size() > kBytes;
  });
  expect_quiet();

  EXPECT_TRUE(client->seen().ends_with(std::string(kBytes, 'r')));
  EXPECT_TRUE(upstream_.received().ends_with(std::string(kBytes, 'u')));
}

TEST_F(TlsServerTest, SendsCloseNotifyAfterAWholeResponse) {
  upstream_.play({{kHello}});
  const auto client = met();

  client->send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  until_over(*client);

  EXPECT_TRUE(client->ended());
  EXPECT_NE(client->seen().find("hello"), std::string::npos);
}

TEST_F(TlsServerTest, SendsNoCloseNotifyAfterACutResponse) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", After::close}});
  const auto client = met();

  client->send(kGet);
  until_over(*client);

  EXPECT_FALSE(client->ended());
  EXPECT_TRUE(client->failed());
}

TEST_F(TlsServerTest, AnswersAClientThatHasFinishedSending) {
  upstream_.play({{kHello}});
  const auto inside = met();
  inside->send(kGet);
  inside->finish_sending();
  until_seen(*inside, "hello");

  const auto outside = met();
  outside->send(kGet);
  outside->shut_socket_down();
  until_seen(*outside, "hello");
  expect_quiet();
}

TEST_F(TlsServerTest, AnswersPlainHttpWithTheReason) {
  for (const char* request : {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "DELETE /x HTTP/1.1\r\n\r\n",
                              "PRI * HTTP/2.0\r\n\r\n"}) {
    Client client{tls_address_};
    client.send(request);
    until_closed(client);

    EXPECT_TRUE(client.seen().starts_with("HTTP/1.0 400 Bad Request\r\n"));
    EXPECT_NE(client.seen().find("\r\nSluice-Error: bad-request"), std::string::npos);
    EXPECT_TRUE(
        client.seen().ends_with("\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"));
  }
  EXPECT_EQ(gateway_.begun, 0);
}

TEST_F(TlsServerTest, ClosesOnBytesThatAreNoHandshake) {
  for (const std::string& junk : {std::string(600, '\0'), std::string{"\x16\x03\x01\x00\x02zz"},
                                  std::string{"SSH-2.0-x\r\n"}}) {
    Client client{tls_address_};
    client.send(junk);
    client.finish_sending();
    until_closed(client);
  }
  until([this] { return server_.connections() == 0; });
}

TEST_F(TlsServerTest, ServesOtherClientsWhileOneHandshakeHangs) {
  upstream_.play({{kHello}});
  Client silent{tls_address_};
  Client halfway{tls_address_};
  halfway.send(std::string{"\x16\x03\x01\x02\x00\x01", 6});

  const auto client = met();
  client->send(kGet);
  until_seen(*client, "hello");

  EXPECT_EQ(server_.connections(), 3U);
}

TEST_F(TlsServerTest, DropsAClientThatLeavesInTheHandshake) {
  {
    Client client{tls_address_};
    client.send(std::string{"\x16\x03\x01\x02\x00\x01", 6});
    until([this] { return server_.connections() == 1; });
  }
  until([this] { return server_.connections() == 0; });
}

TEST_F(TlsServerTest, EndsAHandshakeThatTakesTooLong) {
  ProxyServer hasty{io_, clock_, gateway_,
                    ServerLimits{.head_timeout = std::chrono::milliseconds{30}}};
  const auto bound = hasty.listen(*parse_address("127.0.0.1:0"), context.get());
  ASSERT_TRUE(bound);
  Client silent{*bound};
  Client halfway{*bound};
  halfway.send(std::string{"\x16\x03\x01\x02\x00\x01", 6});

  until_closed(silent);
  until_closed(halfway);

  until([&] { return hasty.connections() == 0; });
}

TEST_F(TlsServerTest, CountsTheHandshakeIntoTheTimeOfTheFirstHead) {
  ProxyServer hasty{io_, clock_, gateway_,
                    ServerLimits{.head_timeout = std::chrono::milliseconds{500}}};
  const auto bound = hasty.listen(*parse_address("127.0.0.1:0"), context.get());
  ASSERT_TRUE(bound);
  TlsClient client{connected_to(*bound)};
  until([&] { return client.shake() || client.failed(); });

  until_over(client);

  EXPECT_EQ(gateway_.begun, 0);
  until([&] { return hasty.connections() == 0; });
}

TEST_F(TlsServerTest, ClosesHandshakesWithAllConnections) {
  Client client{tls_address_};
  client.send(std::string{"\x16\x03\x01\x02\x00\x01", 6});
  until([this] { return server_.connections() == 1; });

  server_.close_all();

  until_closed(client);
  until([this] { return server_.connections() == 0; });
}

TEST_F(TlsServerTest, ServesANewPairToNewConnectionsAndKeepsTheOldOnes) {
  upstream_.play({{kHello}});
  const auto old = met();

  ASSERT_TRUE(context->replace(make_pair_for("second")));
  const auto fresh = met();
  old->send(kGet);
  until_seen(*old, "hello");
  fresh->send(kGet);
  until_seen(*fresh, "hello");

  EXPECT_EQ(old->subject(), "first");
  EXPECT_EQ(fresh->subject(), "second");
}

TEST_F(TlsServerTest, KeepsTheOldPairWhenTheNewOneIsBad) {
  EXPECT_FALSE(context->replace({make_pair_for("second").certificate, make_pair_for("third").key}));
  EXPECT_FALSE(context->replace({"junk", "junk"}));

  EXPECT_EQ(met()->subject(), "first");
}

}  // namespace
}  // namespace sluice::net::testing
