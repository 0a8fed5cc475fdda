// HTTP/2 seen from a gateway that chooses pods: what may be sent elsewhere, and streams of one
// client that go to several pods.

#include "tests/unit/common/net/h2_frames.h"
#include "tests/unit/common/net/stage.h"

namespace sluice::net::testing {
namespace {

class H2RetryTest : public Stage {
 protected:
  H2RetryTest() {
    gateway_.on_begin = [this](Exchange& exchange) { exchange.forward(pool_, {}); };
    gateway_.on_failure = [this](Exchange& exchange) {
      if (!gateway_.failures.back().unbegun || exchange.body_sent()) return false;
      exchange.forward(other_pool_, {});
      return true;
    };
  }

  // Answers the preface, and with it the requests that came along; what follows gets `then`.
  static void answer(ScriptedUpstream& pod, const std::string& frames,
                     const std::string& then = {}) {
    pod.play({{frame(kSettings, 0, 0, "") + frames}, {then}});
  }

  static bool has(const Client& client, const std::string& piece) {
    return client.seen().find(piece) != std::string::npos;
  }

  ScriptedUpstream other_{io_};
  UpstreamPool other_pool_{io_, other_.address(), UpstreamLimits{}};
};

TEST_F(H2RetryTest, ARefusedStreamMayGoToAnotherPod) {
  // The pool repeats it once by itself, as the next stream.
  answer(upstream_, frame(kReset, 0, 1, kRefusedStream), frame(kReset, 0, 3, kRefusedStream));
  answer(other_, kOk);
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEnds, 1, kGetBlock));
  until([&] {
    client.take();
    return has(client, kOk);
  });

  ASSERT_EQ(gateway_.failures.size(), 1U);
  EXPECT_TRUE(gateway_.failures[0].unbegun);
  expect_quiet();
}

TEST_F(H2RetryTest, AStreamBehindAGoawayMayGoToAnotherPod) {
  upstream_.play({{frame(kSettings, 0, 0, "") + kGone}});
  answer(other_, kOk);
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEnds, 1, kGetBlock));
  until([&] {
    client.take();
    return has(client, kOk);
  });

  ASSERT_EQ(gateway_.failures.size(), 1U);
  EXPECT_TRUE(gateway_.failures[0].unbegun);
  expect_quiet();
}

TEST_F(H2RetryTest, AStreamThatWasResetMayHaveBegun) {
  answer(upstream_, frame(kReset, 0, 1, std::string{"\0\0\0\x02", 4}));
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEnds, 1, kGetBlock));
  until([this] { return gateway_.ends.size() == 1; });

  ASSERT_EQ(gateway_.failures.size(), 1U);
  EXPECT_FALSE(gateway_.failures[0].unbegun);
  EXPECT_EQ(other_.connections(), 0U);
}

TEST_F(H2RetryTest, AFailedDialMayGoToAnotherPodWithItsBody) {
  const Address vacant = *parse_address("127.0.0.1:1");
  UpstreamPool dead{io_, vacant, UpstreamLimits{}};
  gateway_.on_begin = [&](Exchange& exchange) { exchange.forward(dead, {}); };
  answer(other_, kOk);
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEndHead, 1, kPostBlock) + frame(kData, 1, 1, "body"));
  until([&] {
    client.take();
    return has(client, kOk);
  });

  until([this] { return other_.received().find("body") != std::string::npos; });
  ASSERT_EQ(gateway_.failures.size(), 1U);
  EXPECT_EQ(gateway_.failures[0].error, Error::upstream_connect);
  EXPECT_TRUE(gateway_.failures[0].unbegun);
  expect_quiet();
}

TEST_F(H2RetryTest, ADrainingPodsAnswerMayBePassedOver) {
  // :status 503, then sluice-error: draining, both as literals.
  answer(upstream_, frame(kHeaders, kEnds, 1,
                          std::string{"\x48\x03"} + "503" + std::string{"\0\x0c", 2} +
                              "sluice-error" + "\x08" + "draining"));
  answer(other_, kOk);
  gateway_.on_response = [this](Exchange& exchange, const http::ResponseHead& head) {
    if (head.fields.get(http::Known::sluice_error) != "draining") return ResponseVerdict::forward;
    exchange.forward(other_pool_, {});
    return ResponseVerdict::retried;
  };
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEnds, 1, kGetBlock));
  until([&] {
    client.take();
    return has(client, kOk);
  });

  expect_quiet();
  EXPECT_TRUE(gateway_.failures.empty());
}

TEST_F(H2RetryTest, StreamsOfOneClientGoToSeveralPods) {
  answer(upstream_, kOk);
  answer(other_, kOk);
  gateway_.on_begin = [this](Exchange& exchange) {
    exchange.forward(gateway_.begun % 2 == 0 ? other_pool_ : pool_, {});
  };
  Client client{address_};
  client.send(kPreface + frame(kHeaders, kEnds, 1, kGetBlock) +
              frame(kHeaders, kEnds, 3, kGetBlock));
  until([&] {
    client.take();
    return has(client, kOk) && has(client, frame(kHeaders, kEnds, 3, "\x88"));
  });

  EXPECT_EQ(upstream_.connections(), 1U);
  EXPECT_EQ(other_.connections(), 1U);
  expect_quiet();
}

TEST_F(H2RetryTest, AHeldStreamLeavesWithItsClient) {
  gateway_.on_begin = [](Exchange& exchange) { exchange.hold(); };
  {
    Client client{address_};
    client.send(kPreface + frame(kHeaders, kEndHead, 1, kPostBlock) + frame(kData, 0, 1, "body"));
    until([this] { return gateway_.begun == 1; });
  }
  until([this] { return gateway_.ends.size() == 1; });

  EXPECT_EQ(gateway_.ends[0], Outcome::End::client_gone);
}

}  // namespace
}  // namespace sluice::net::testing
