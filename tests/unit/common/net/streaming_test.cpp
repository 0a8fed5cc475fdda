// Bodies on their way: both at once, trailers, responses that come early, interim ones.

#include "common/net/upstream/dial_plan.h"
#include "tests/unit/common/net/stage.h"

namespace sluice::net::testing {
namespace {

using After = ScriptedUpstream::After;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

class StreamingTest : public Stage {
 protected:
  void until_heard(const std::string& text) {
    until([&] { return upstream_.received().find(text) != std::string::npos; });
  }

  struct IdleUser final : UpstreamUser {
    void on_upstream_read(bool /*ended*/) override {}
  };

  IdleUser user_;
};

TEST_F(StreamingTest, RelaysChunksAndTrailersOfARequestAsTheyCome) {
  upstream_.play({{""}});
  Client client{address_};

  client.send(
      "POST / HTTP/1.1\r\nHost: h\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n");
  until_heard("5\r\nhello\r\n");
  client.send("0\r\nX-Sum: 1\r\n\r\n");
  until_heard("0\r\nX-Sum: 1\r\n\r\n");

  EXPECT_NE(upstream_.received().find("Trailer: X-Sum\r\n"), std::string::npos);
}

TEST_F(StreamingTest, RelaysUnannouncedTrailersOfAResponse) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 1\r\n\r\n"}});
  Client client{address_};

  client.send(kGet);
  until_seen(client, "0\r\nX-Sum: 1\r\n\r\n");

  expect_quiet();
  EXPECT_EQ(pool_.idle(), 1U);
}

TEST_F(StreamingTest, StreamsTheResponseWhileTheRequestStillFlows) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}});
  Client client{address_};
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  until_seen(client, "\r\n\r\n");

  for (const std::string word : {"one", "two", "six"}) {
    client.send("3\r\n" + word + "\r\n");
    until_heard(word + "\r\n");
    upstream_.say("3\r\n" + word + "\r\n");
    until_seen(client, word + "\r\n");
  }
  client.send("0\r\n\r\n");
  upstream_.say("0\r\n\r\n");
  until_seen(client, "0\r\n\r\n");

  expect_quiet();
}

TEST_F(StreamingTest, WhatBodiesHaveMovedIsKnownWhileTheyFlow) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}});
  const Exchange* running = nullptr;
  gateway_.on_begin = [&](Exchange& exchange) {
    running = &exchange;
    forward(exchange);
  };
  Client client{address_};
  client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  until_seen(client, "\r\n\r\n");
  EXPECT_EQ(running->moved(), 0U);

  client.send("5\r\nthree\r\n");
  until_heard("three\r\n");
  EXPECT_EQ(running->moved(), 5U);
  upstream_.say("4\r\nfour\r\n");
  until_seen(client, "four\r\n");
  EXPECT_EQ(running->moved(), 9U);
  client.send("0\r\n\r\n");
  upstream_.say("0\r\n\r\n");
  expect_quiet();
}

TEST_F(StreamingTest, FinishesAnUploadThatStillRunsAfterItsResponse) {
  upstream_.play({{""}});
  Client client{address_};
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\nhalf");
  until_heard("half");
  upstream_.say(kHello);
  until_seen(client, "hello");
  EXPECT_EQ(server_.in_flight(), 1U);

  client.send("done");
  until_heard("halfdone");
  expect_quiet();
  EXPECT_EQ(pool_.idle(), 1U);
  client.forget();
  upstream_.play({{kHello}});
  client.send(kGet);
  until_seen(client, "hello");

  EXPECT_EQ(upstream_.connections(), 1U);
}

TEST_F(StreamingTest, GivesUpAnUploadThatItsUpstreamStopsReading) {
  upstream_.play({{""}});
  Client client{address_};
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\nhalf");
  until_heard("half");

  upstream_.say("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
  upstream_.hang_up(After::close);
  until_closed(client);

  EXPECT_TRUE(client.seen().ends_with("big"));
  expect_quiet();
}

TEST_F(StreamingTest, LeavesContinueAndTheStatusToTheUpstream) {
  upstream_.play({{""}});
  Client client{address_};
  client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  until_heard("Expect: 100-continue\r\n");

  upstream_.say("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
  until_seen(client, "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  until_heard("body");
  upstream_.say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
  until_seen(client, "HTTP/1.1 201 Created\r\n");

  EXPECT_NE(client.seen().find("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), std::string::npos);
  expect_quiet();
}

TEST_F(StreamingTest, RefusesWithoutContinueAndClosesBecauseTheBodyMayNeverCome) {
  upstream_.stop_reading_after_head();
  upstream_.play({{"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"}});
  Client client{address_};

  client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  until_closed(client);

  EXPECT_TRUE(client.seen().starts_with("HTTP/1.1 413 "));
  EXPECT_NE(client.seen().find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(client.seen().ends_with("big"));
}

TEST_F(StreamingTest, SendsNoBodyHeadersWhereNoBodyIsAllowed) {
  for (const auto& [request, response] :
       {std::pair{"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"},
        {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"},
        {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}}) {
    upstream_.play({{response}});
    Client client{address_};
    client.send(std::string{request} + " / HTTP/1.1\r\nHost: h\r\n\r\n");
    until_seen(client, "\r\n\r\n");

    EXPECT_EQ(client.seen().find("Content-Length: 0"), std::string::npos);
    EXPECT_EQ(client.seen().find("Transfer-Encoding"), std::string::npos);
    expect_quiet();
    EXPECT_EQ(pool_.idle(), 1U);
  }
}

TEST_F(StreamingTest, NeverSendsAnUploadToAConnectionThatHasClosedUnseen) {
  upstream_.play({{kHello}});
  Client client{address_};
  client.send(kGet);
  until_seen(client, "hello");
  expect_quiet();
  upstream_.hang_up(After::close);  // the loop has not run since

  EXPECT_EQ(pool_.take_idle(user_, true), nullptr);
}

TEST(DialPlan, TriesFifteenTimesInAboutTwentySeconds) {
  DialPlan plan{7, std::chrono::minutes{1}};
  Duration all{0};
  Duration last{0};
  int tries = 0;

  for (Duration next = plan.next_try(); next > Duration{0}; next = plan.next_try()) {
    EXPECT_GT(next, last);
    last = next;
    all += next + plan.rest();
    ++tries;
  }

  EXPECT_EQ(tries, 15);
  EXPECT_GT(all, std::chrono::seconds{18});
  EXPECT_LT(all, std::chrono::seconds{24});
}

TEST(DialPlan, NeverTakesLongerThanItMay) {
  DialPlan plan{1, std::chrono::milliseconds{100}};
  Duration all{0};

  for (Duration next = plan.next_try(); next > Duration{0}; next = plan.next_try()) {
    all += next + plan.rest();
  }

  EXPECT_EQ(all, std::chrono::milliseconds{100});
}

}  // namespace
}  // namespace sluice::net::testing
