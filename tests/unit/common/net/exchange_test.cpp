// One connection and its requests, over loopback, with an upstream that each test scripts.

#include "tests/unit/common/net/stage.h"

namespace sluice::net::testing {
namespace {

using After = ScriptedUpstream::After;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kGetAndClose = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const std::string kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n3;x=y\r\nyou\r\n0\r\nX-Sum: 1\r\n\r\n";

std::string post(std::size_t bytes) {
  return "POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
         std::string(bytes, 'b');
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

class ExchangeTest : public Stage {};

TEST_F(ExchangeTest, AnswersOneRequestAfterTheOtherOnOneUpstreamConnection) {
  upstream_.play({{kHello}});
  Client client{address_};

  for (int i = 0; i < 3; ++i) {
    client.forget();
    client.send(kGet);
    until_seen(client, "hello");
  }

  EXPECT_EQ(upstream_.connections(), 1U);
  expect_quiet();
}

TEST_F(ExchangeTest, AnswersPipelinedRequestsInOrderAndEachOnce) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"},
                  {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"},
                  {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthree"}});
  Client client{address_};

  client.send(std::string{kGet} + std::string{kGet});
  until_seen(client, "two");
  client.send("GET /third HTTP/1.1\r\nHost: h\r\n\r\n");
  until_seen(client, "three");
  settle();

  EXPECT_LT(client.seen().find("one"), client.seen().find("two"));
  EXPECT_EQ(gateway_.begun, 3);
  EXPECT_EQ(count_of(upstream_.received(), "GET /a "), 2U);
  expect_quiet();
}

TEST_F(ExchangeTest, AnswersPipelinedRequestsOfAClientThatHasFinishedSending) {
  upstream_.play({{kHello}});
  Client client{address_};

  client.send(std::string{kGet} + std::string{kGet});
  client.finish_sending();
  until_closed(client);

  EXPECT_EQ(count_of(client.seen(), "hello"), 2U);
  expect_quiet();
}

TEST_F(ExchangeTest, ServesTheNextRequestAfterALargeUpload) {
  upstream_.play({{kHello}});
  Client client{address_};

  std::string upload = post(200'000);
  while (!upload.empty()) {
    upload.erase(0, client.send(upload));
    settle();
  }
  until_seen(client, "hello");
  client.forget();
  client.send(kGet);
  until_seen(client, "hello");

  EXPECT_EQ(count_of(upstream_.received(), "b"), 200'000U);
  expect_quiet();
}

TEST_F(ExchangeTest, NeverReadsTheBodyOfAnAnsweredUploadAsARequest) {
  upstream_.stop_reading_after_head();
  upstream_.play({{"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"}});
  std::string body;
  while (body.size() < 24'000'000) body += kGet;
  Client client{address_};

  client.send("POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n");
  for (int turn = 0; turn < 200; ++turn) {
    body.erase(0, client.send(body));
    settle();
  }
  until_closed(client);

  EXPECT_EQ(gateway_.begun, 1);
  expect_quiet();
}

TEST_F(ExchangeTest, EndsCleanlyWhereverTheUpstreamsResponseIsCut) {
  for (const std::string& whole : {kHello, kChunked}) {
    for (const After how : {After::close, After::reset}) {
      for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        upstream_.play({{whole.substr(0, cut), how}});
        Client client{address_};
        client.send(kGetAndClose);
        until_closed(client);
        expect_quiet();
        EXPECT_EQ(client.seen().find("X-Sum: 1\r\n\r\n"), std::string::npos) << cut;
        if (whole == kHello) {
          EXPECT_FALSE(client.seen().ends_with("hello")) << cut;
        }
        settle();
        EXPECT_EQ(server_.connections(), 0U) << cut;
      }
    }
  }
}

TEST_F(ExchangeTest, CutsAResponseWhoseTrailerNeverEnds) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}});
  Client client{address_};

  client.send(kGet);
  until_seen(client, "abc");
  upstream_.say("5;" + std::string(200'000, 'x'));
  until_closed(client);

  EXPECT_EQ(gateway_.ends.back(), Outcome::End::aborted);
  expect_quiet();
}

TEST_F(ExchangeTest, RefusesAnUploadWhoseChunkHeaderNeverEnds) {
  upstream_.play({{""}});
  Client client{address_};

  client.send("POST /u HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;");
  for (int i = 0; i < 100; ++i) {
    client.send(std::string(1000, 'x'));
    settle();
  }
  until_seen(client, "400 Bad Request");

  expect_quiet();
}

TEST_F(ExchangeTest, GivesAnOldClientTheContentWithoutChunks) {
  upstream_.play({{kChunked}});
  Client client{address_};

  client.send("GET /a HTTP/1.0\r\n\r\n");
  until_closed(client);

  EXPECT_TRUE(client.seen().ends_with("\r\n\r\nhelloyou"));
  EXPECT_EQ(client.seen().find("chunked"), std::string::npos);
}

TEST_F(ExchangeTest, PassesTrailersOn) {
  upstream_.play({{kChunked}});
  Client client{address_};

  client.send(kGet);
  until_seen(client, "0\r\nX-Sum: 1\r\n\r\n");

  EXPECT_EQ(upstream_.connections(), 1U);
  expect_quiet();
}

TEST_F(ExchangeTest, PutsABodyThatEndsWithItsConnectionIntoChunks) {
  upstream_.play({{"HTTP/1.1 200 OK\r\n\r\nhello", After::close}});
  Client client{address_};

  client.send(kGet);
  until_seen(client, "5\r\nhello\r\n0\r\n\r\n");

  expect_quiet();
}

TEST_F(ExchangeTest, CutsABodyThatEndsWithAReset) {
  upstream_.play({{"HTTP/1.1 200 OK\r\n\r\nhello", After::reset}});
  Client client{address_};

  client.send(kGetAndClose);
  until_closed(client);

  EXPECT_EQ(client.seen().find("0\r\n\r\n"), std::string::npos);
  expect_quiet();
}

TEST_F(ExchangeTest, KeepsTheFinalStatusAfterInterimOnes) {
  upstream_.play(
      {{"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"}});
  Client client{address_};

  client.send(kGet);
  until_seen(client, "404 Not Found");

  EXPECT_TRUE(client.seen().starts_with("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"));
  expect_quiet();
}

TEST_F(ExchangeTest, SendsNoBodyForHeadAndForStatusesWithout) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
                  {"HTTP/1.1 204 No Content\r\n\r\n"},
                  {"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"},
                  {kHello}});
  Client client{address_};

  client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" + std::string{kGet} + std::string{kGet} +
              std::string{kGet});
  until_seen(client, "hello");

  EXPECT_EQ(client.seen(),
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
            "HTTP/1.1 204 No Content\r\n\r\n"
            "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n" +
                kHello);
  EXPECT_EQ(upstream_.connections(), 1U);
}

}  // namespace
}  // namespace sluice::net::testing
