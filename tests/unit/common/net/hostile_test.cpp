// Clients and upstreams that break the rules: each gets a clear refusal, and nothing of what they
// sent is taken for another request or response.

#include "tests/unit/common/net/stage.h"

#include <sys/socket.h>

namespace sluice::net::testing {
namespace {

using After = ScriptedUpstream::After;
using std::string_literals::operator""s;

const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const std::string kNext = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

ServerLimits tight_limits() {
  ServerLimits limits = stage_limits();
  limits.head_bytes_max = 2048;
  limits.fields_max = 20;
  limits.head_timeout = std::chrono::milliseconds{60};
  limits.body_timeout = std::chrono::milliseconds{60};
  return limits;
}

class HostileTest : public Stage {
 protected:
  HostileTest() : Stage{tight_limits()} { upstream_.play({{kHello}}); }

  std::string answer_to(const std::string& bytes) {
    Client client{address_};
    client.send(bytes);
    until_closed(client);
    return client.seen();
  }

  void expect_refused(const std::string& bytes, const std::string& status,
                      const std::string& cause) {
    const std::string seen = answer_to(bytes);
    EXPECT_TRUE(seen.starts_with("HTTP/1.1 " + status)) << bytes << seen;
    EXPECT_NE(seen.find("Sluice-Error: " + cause), std::string::npos) << seen;
    EXPECT_NE(seen.find("Connection: close\r\n"), std::string::npos) << seen;
    EXPECT_EQ(upstream_.received().find("smuggled"), std::string::npos) << bytes;
    expect_quiet();
  }
};

TEST_F(HostileTest, RefusesHeadsThatTwoReadersCouldReadDifferently) {
  for (const std::string& head : {
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"s,
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"s,
           "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"s,
           "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"s,
           "GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n"s,
           "GET / HTTP/1.1\nHost: h\n\n"s,
           "GET / HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n"s,
           "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n"s,
       }) {
    expect_refused(head + "abc" + kNext, "400 ", "bad-request; reason=");
  }
  EXPECT_EQ(upstream_.requests(), 0U);
}

TEST_F(HostileTest, EndsTheConnectionOfABrokenBody) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& body : {"0x3\r\nabc\r\n"s, "3\r\nabcd\r\n"s, "ffffffffffffffffff\r\n"s,
                                  "3\nabc\n"s, "\r\n"s, "0\r\nContent-Length: 5\r\n\r\n"s}) {
    expect_refused(start + body + "0\r\n\r\n" + kNext, "400 ", "bad-request; reason=");
  }
}

TEST_F(HostileTest, NamesTheLimitOfAHeadThatIsTooLarge) {
  std::string fields;
  for (int i = 0; i < 21; ++i) fields += "a:\r\n";
  expect_refused("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n", "431 ",
                 "too-large; limit=header-fields");
  expect_refused("GET /" + std::string(4000, 'x') + " HTTP/1.1\r\n", "431 ",
                 "too-large; limit=header-bytes");
}

TEST_F(HostileTest, AnswersTheRequestBeforeTheBrokenOne) {
  const std::string seen =
      answer_to("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/9.9\r\nHost: h\r\n\r\n" + kNext);

  EXPECT_LT(seen.find("hello"), seen.find("HTTP/1.1 400 "));
  EXPECT_EQ(upstream_.requests(), 1U);
}

TEST_F(HostileTest, EndsAHeadThatComesTooSlowly) {
  expect_refused("GET / HTTP/1.1\r\nHo", "408 ", "timeout; timer=header");
}

TEST_F(HostileTest, EndsABodyThatStopsComing) {
  expect_refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc", "408 ",
                 "timeout; timer=body");
}

TEST_F(HostileTest, ABodyMayArriveAsSlowlyAsTheUpstreamTakesIt) {
  upstream_.stop_reading_after_head();
  upstream_.play({{""}});
  Client client{address_};
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 90000000\r\n\r\n");
  const std::string block(64 * 1024, 'x');
  for (int turn = 0; turn < 1000; ++turn) {
    client.send(block);
    settle();
  }

  for (int turn = 0; turn < 20; ++turn) io_.run_one_for(std::chrono::milliseconds{10});

  client.take();
  EXPECT_EQ(client.seen(), "");
  EXPECT_EQ(server_.in_flight(), 1U);
}

TEST_F(HostileTest, MakesABrokenResponseABadGateway) {
  for (const std::string& response : {
           "HTTP/1.1 200 OK\nContent-Length: 0\n\n"s,
           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"s,
           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n"s,
           "nonsense\r\n\r\n"s,
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0x3\r\nabc"s,
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(20'000, 'x'),
           "HTTP/1.1 200 OK\r\nA: " + std::string(2 << 20, 'x'),
       }) {
    upstream_.play({{response, After::close}});
    Client client{address_};
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    until_closed(client);
    EXPECT_TRUE(client.seen().starts_with("HTTP/1.1 502 ")) << client.seen();
    EXPECT_NE(client.seen().find("Sluice-Error: upstream"), std::string::npos);
  }
}

TEST_F(HostileTest, CutsAResponseWithAMalformedBody) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}});
  Client client{address_};

  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  until_seen(client, "abc");
  upstream_.say("0x3\r\nabc");
  until_closed(client);

  EXPECT_EQ(client.seen().find("0x3"), std::string::npos);
  EXPECT_EQ(pool_.idle(), 0U);
  expect_quiet();
}

// A client whose machine is gone sends nothing more; the kernel detects it.
TEST_F(HostileTest, PingsSilentClients) {
  int asks = 0;
  Listener listener{io_, [&asks](Socket socket) {
                      socklen_t size = sizeof asks;
                      ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_KEEPALIVE, &asks, &size);
                    }};
  const auto bound = listener.open(*parse_address("127.0.0.1:0"));
  ASSERT_TRUE(bound);
  const Client client{*bound};

  until([&asks] { return asks != 0; });
}

}  // namespace
}  // namespace sluice::net::testing
