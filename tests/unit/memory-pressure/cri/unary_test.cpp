#include "memory-pressure/cri/unary.h"

#include "tests/support/unary_server.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include <optional>

namespace sluice::rpc {
namespace {

using sluice::testing::UnaryAnswer;
using sluice::testing::UnaryServer;
using testing::run_until;
using testing::TestFolder;

constexpr const char* kMethod = "/test.Service/Ask";

UnaryAnswer echo(const std::string& method, const std::string& request) {
  return {.code = 0, .text = {}, .bytes = method + " " + request};
}

class Unary : public ::testing::Test {
 protected:
  std::string socket() const { return "unix:" + folder.path() + "/s.sock"; }

  UnaryReply ask(UnaryClient& client, const std::string& request,
                 Duration limit = std::chrono::seconds{10}) {
    std::optional<UnaryReply> reply;
    client.call(kMethod, request, limit, [&](UnaryReply got) { reply = std::move(got); });
    EXPECT_TRUE(run_until(io, [&] { return reply.has_value(); }));
    return reply.value_or(UnaryReply{{Code::unknown, "no answer"}, {}});
  }

  TestFolder folder;
  boost::asio::io_context io{1};
};

TEST_F(Unary, AnAnswerComesBackOverAUnixSocket) {
  const UnaryServer server{socket(), echo};
  UnaryClient client{io, {.target = server.target()}};

  const UnaryReply reply = ask(client, "hello");

  EXPECT_EQ(reply.ending, (Ending{Code::ok, ""}));
  EXPECT_EQ(reply.bytes, "/test.Service/Ask hello");
}

TEST_F(Unary, CallsGoSideBySideOverTcp) {
  const UnaryServer server{"127.0.0.1:0", echo};
  UnaryClient client{io, {.target = server.target()}};
  std::vector<std::string> answers;

  for (const char* each : {"a", "b", "c"}) {
    client.call(kMethod, each, std::chrono::seconds{10},
                [&](UnaryReply reply) { answers.push_back(reply.bytes.substr(18)); });
  }

  ASSERT_TRUE(run_until(io, [&] { return answers.size() == 3; }));
  std::sort(answers.begin(), answers.end());
  EXPECT_EQ(answers, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(Unary, TheServersRefusalIsReported) {
  const UnaryServer server{socket(), [](auto&, auto&) {
                             return UnaryAnswer{
                                 .code = 5, .text = "no such container", .bytes = {}};
                           }};
  UnaryClient client{io, {.target = server.target()}};

  EXPECT_EQ(ask(client, "").ending, (Ending{Code::not_found, "no such container"}));
}

TEST_F(Unary, ASilentServerEndsAtTheDeadline) {
  const UnaryServer server{socket(), [](auto&, auto&) { return UnaryAnswer{0, {}, {}, true}; }};
  UnaryClient client{io, {.target = server.target()}};

  EXPECT_EQ(ask(client, "", std::chrono::milliseconds{50}).ending.code, Code::deadline_exceeded);
}

// Goal: a server that comes back is found by the very next call.
TEST_F(Unary, TheConnectionIsMadeAgainAfterItsLoss) {
  UnaryClient client{io, {.target = socket()}};
  EXPECT_EQ(ask(client, "1").ending.code, Code::unavailable);
  for (int round = 0; round < 3; ++round) {
    {
      const UnaryServer server{socket(), echo};
      EXPECT_EQ(ask(client, "2").ending.code, Code::ok) << round;
    }
    EXPECT_EQ(ask(client, "3").ending.code, Code::unavailable) << round;
  }
}

TEST_F(Unary, ATooLargeAnswerIsRefused) {
  const UnaryServer server{socket(), [](auto&, auto&) {
                             return UnaryAnswer{0, {}, std::string(2'000, 'x')};
                           }};
  UnaryClient small{io, {.target = server.target(), .receive_bytes_max = 1'000}};
  UnaryClient usual{io, {.target = server.target()}};

  EXPECT_EQ(ask(small, "").ending.code, Code::resource_exhausted);
  EXPECT_EQ(ask(usual, "").bytes.size(), 2'000U);
}

TEST_F(Unary, CallsBeyondTheLimitAreRefused) {
  const UnaryServer server{socket(), [](auto&, auto&) { return UnaryAnswer{0, {}, {}, true}; }};
  UnaryClient client{io, {.target = server.target(), .calls_max = 1}};
  bool spoke = false;
  client.call(kMethod, "", std::chrono::seconds{20}, [&](const UnaryReply&) { spoke = true; });

  EXPECT_EQ(ask(client, "").ending.code, Code::resource_exhausted);
  EXPECT_FALSE(spoke);
}

TEST_F(Unary, ItMayBeDestroyedDuringACall) {
  const UnaryServer server{socket(), [](auto&, auto&) { return UnaryAnswer{0, {}, {}, true}; }};
  bool spoke = false;
  {
    UnaryClient client{io, {.target = server.target()}};
    client.call(kMethod, "", std::chrono::seconds{20}, [&](const UnaryReply&) { spoke = true; });
  }
  io.restart();
  io.poll();

  EXPECT_FALSE(spoke);
}

}  // namespace
}  // namespace sluice::rpc
