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
  limits.answer_timeout = kTight;
  return limits;
}

class H2ClientTest : public Stage {
 protected:
  H2ClientTest() : Stage{tight_limits()} {}

  static std::string preface(const std::string& settings) {
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, settings);
  }

  // Longer than any limit here.
  void pass_limits() {
    for (int turn = 0; turn < 40; ++turn) io_.run_one_for(milliseconds{10});
    io_.run_for(5 * kTight);
  }
};

TEST_F(H2ClientTest, ABodyMayEndAfterItsAnswerHasCome) {
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

TEST_F(H2ClientTest, ARefusedHeadIsNotWaitedFor) {
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

// A whole window may come while it waits; nothing more of what is complete, nor than is announced.
TEST_F(H2ClientTest, WhatAHeldRequestMayStillBringCountsAsItsMemory) {
  const std::string five{
      "\x0f\x0d\x01"
      "5",
      4};  // content-length
  std::vector<std::size_t> memory;
  gateway_.on_begin = [&memory](Exchange& exchange) {
    exchange.hold();
    memory.push_back(exchange.memory());
  };
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEnds, 1, kGetBlock) +
              frame(kHeaders, kEndHead, 3, kPostBlock) +
              frame(kHeaders, kEndHead, 5, kPostBlock + five));
  until([&memory] { return memory.size() == 3; });

  EXPECT_LT(memory[0], 8U * 1024U);
  EXPECT_GE(memory[1], 65'535U);
  EXPECT_LT(memory[1], 65'535U + 8U * 1024U);
  EXPECT_LE(memory[2], memory[0] + 64U);
  client.close();
  expect_quiet();
}

TEST_F(H2ClientTest, AClientThatTakesNothingIsLetGo) {
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
