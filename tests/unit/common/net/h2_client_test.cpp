// Clients of HTTP/2 that end a body late, send a head that is refused, or take nothing.

#include "tests/unit/common/net/h2_frames.h"
#include "tests/unit/common/net/stage.h"

namespace sluice::net::testing {
namespace {

using std::chrono::milliseconds;

constexpr Duration kTight = milliseconds{60};
const std::string kGoawayStart{"\x07\0\0\0\0\0", 6};                       // type, flags, stream
const std::string kBadBlock = kGetBlock + std::string{"\0\x01X\x01y", 5};  // an upper-case name
const std::string kNoWindow{"\0\x04\0\0\0\0", 6};                          // settings
const std::string kAllWindow{"\0\x04\x7f\xff\xff\xff", 6};
const std::string kMuch{"\x70\0\0\0", 4};  // of a window update

ServerLimits tight_limits() {
  ServerLimits limits = stage_limits();
  limits.head_timeout = kTight;
  limits.write_timeout = kTight;
  return limits;
}

std::string preface(const std::string& settings) {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, settings);
}

// With limits that a slow machine does not reach while the test runs its steps.
class H2PatientTest : public Stage {
 protected:
  H2PatientTest() : Stage{stage_limits()} {}
};

class H2ClientTest : public Stage {
 protected:
  H2ClientTest() : Stage{tight_limits()} {}

  // Longer than any limit here.
  void pass_limits() {
    for (int turn = 0; turn < 40; ++turn) io_.run_one_for(milliseconds{10});
    io_.run_for(5 * kTight);
  }
};

TEST_F(H2PatientTest, ABodyMayEndAfterItsAnswerHasCome) {
  upstream_.play({{frame(kSettings, 0, 0, "") + frame(kHeaders, kEndHead, 1, "\x88") +
                   frame(kData, 1, 1, "early")}});
  Client client{address_};
  client.send(preface(kNoWindow) + frame(kHeaders, kEndHead, 1, kPostBlock));
  until_seen(client, frame(kHeaders, kEndHead, 1, "\x88"));
  settle();

  client.send(frame(kData, 0, 1, "more") + frame(kData, 1, 1, "last"));
  settle();
  client.send(frame(kWindowUpdate, 0, 1, kMuch));

  until_seen(client, frame(kData, 1, 1, "early"));
  expect_quiet();
}

TEST_F(H2ClientTest, TheHeadTimerDoesNotRunForARefusedHead) {
  upstream_.play({{frame(kSettings, 0, 0, "")}});
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEnds, 1, kGetBlock));
  until([this] { return upstream_.requests() > 0; });
  client.send(frame(kHeaders, kEnds, 3, kBadBlock));
  client.send(frame(kHeaders, 1, 5, kBadBlock) + frame(kContinuation, kEndHead, 5, ""));
  until_seen(client, frame(kReset, 0, 5, kProtocolError));

  pass_limits();

  upstream_.say(kOk);
  until_seen(client, kOk);
  EXPECT_EQ(client.seen().find(kGoawayStart), std::string::npos);
}

TEST_F(H2ClientTest, AHeldRequestCountsTheReceivedPartOfItsBody) {
  std::vector<std::size_t> memory;
  gateway_.on_begin = [&memory](Exchange& exchange) {
    exchange.hold();
    memory.push_back(exchange.memory());
  };
  gateway_.on_grew = [&memory](Exchange& exchange) { memory.push_back(exchange.memory()); };
  const std::string body(100, 'b');
  Client client{address_};

  client.send(kPreface + frame(kHeaders, kEndHead, 1, kPostBlock));
  until([&memory] { return memory.size() == 1; });
  for (int part = 0; part < 100; ++part) client.send(frame(kData, 0, 1, body));
  until([&] { return memory.back() >= memory.front() + 100U * body.size(); });

  EXPECT_LT(memory.front(), 8U * 1024U);
  client.close();
  expect_quiet();
}

TEST_F(H2ClientTest, AHeldRequestMayBeRefusedWhenItsBodyGrows) {
  gateway_.on_begin = [](Exchange& exchange) { exchange.hold(); };
  gateway_.on_grew = [](Exchange& exchange) {
    exchange.respond(http::response_for(Error::queue_full));
  };
  Client client{address_};

  client.send(kPreface + frame(kHeaders, kEndHead, 1, kPostBlock) + frame(kData, 0, 1, "body"));

  until([this] { return gateway_.ends.size() == 1; });
  EXPECT_EQ(gateway_.ends.front(), Outcome::End::own);
  until_seen(client, "pending request queue full");
}

TEST_F(H2ClientTest, AResponseWhoseWindowStaysClosedEnds) {
  upstream_.play({{frame(kSettings, 0, 0, "")}});
  Client client{address_};
  client.send(preface(kNoWindow) + frame(kHeaders, kEnds, 1, kGetBlock));
  until([this] { return upstream_.requests() > 0; });

  upstream_.say(frame(kHeaders, kEndHead, 1, "\x88") + frame(kData, 0, 1, "never taken"));

  until([this] { return gateway_.ends.size() == 1; });
  EXPECT_EQ(gateway_.ends.front(), Outcome::End::timed_out);
  EXPECT_EQ(gateway_.last_timer, Timer::write);
  until_seen(client, frame(kReset, 0, 1, std::string{"\0\0\0\x08", 4}));
}

TEST_F(H2ClientTest, AResponseThatPausesDoesNotCloseItsClient) {
  upstream_.play({{frame(kSettings, 0, 0, "")}});
  Client client{address_};
  client.send(preface(kNoWindow) + frame(kHeaders, kEnds, 1, kGetBlock));
  until([this] { return upstream_.requests() > 0; });
  upstream_.say(frame(kHeaders, kEndHead, 1, "\x88"));
  until_seen(client, frame(kHeaders, kEndHead, 1, "\x88"));

  pass_limits();

  EXPECT_EQ(server_.in_flight(), 1U);
}

TEST_F(H2ClientTest, AClientThatReadsNothingIsDisconnected) {
  gateway_.on_begin = [](Exchange& exchange) {
    exchange.respond(http::plain_response(200, std::string(64 << 20, 'x')));
  };
  Client client{address_};
  client.send(preface(kAllWindow) + frame(kWindowUpdate, 0, 0, kMuch) +
              frame(kHeaders, kEnds, 1, kGetBlock));
  until([this] { return gateway_.ends.size() == 1; });

  pass_limits();

  until_closed(client);
}

}  // namespace
}  // namespace sluice::net::testing
