#include "tests/unit/common/rpc/rpc_stage.h"

#include <boost/asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>

#include <filesystem>

namespace sluice::rpc {
namespace {

using std::chrono::milliseconds;
using testing::ClientStage;
using testing::kMethod;
using testing::run_until;
using testing::ServerStage;
using testing::TestFolder;

TEST(RetryPause, GrowsByThreeTenthsUpToFiveSeconds) {
  EXPECT_EQ(retry_pause(1, 0.5), milliseconds{100});
  EXPECT_EQ(retry_pause(2, 0.5), milliseconds{130});
  EXPECT_EQ(retry_pause(3, 0.5), milliseconds{169});
  EXPECT_EQ(retry_pause(16, 0.5), milliseconds{5000});
  EXPECT_EQ(retry_pause(4'000'000'000, 0.5), milliseconds{5000});
}

TEST(RetryPause, ScattersByHalf) {
  EXPECT_EQ(retry_pause(1, 0.0), milliseconds{50});
  EXPECT_EQ(retry_pause(1, 0.9), milliseconds{140});
  EXPECT_EQ(retry_pause(100, 0.0), milliseconds{2500});
  EXPECT_EQ(retry_pause(100, 0.99), milliseconds{5000}) << "never longer";
}

class RpcReconnect : public ::testing::Test {
 protected:
  RpcReconnect() : address("unix:" + folder.path() + "/rpc.sock") {}

  void serve() { server.emplace(io, ServerOptions{.address = address, .methods = {}}); }

  ClientOptions options() const { return {.target = address, .method = {}, .seed = 7}; }

  TestFolder folder;
  std::string address;
  boost::asio::io_context io{1};
  std::optional<ServerStage> server;
};

TEST_F(RpcReconnect, ATargetThatIsNotThereIsTriedAgain) {
  ClientStage client{io, options()};
  ASSERT_TRUE(run_until(io, [&] { return client.closed.size() == 3; }));
  for (const Client::Closed& each : client.closed) {
    EXPECT_EQ(each.ending.code, Code::unavailable) << each.ending.show();
    EXPECT_FALSE(each.connected);
  }

  serve();
  ASSERT_TRUE(run_until(io, [&] { return client.connected == 1; }));

  client.client().write("here");
  ASSERT_TRUE(run_until(io, [&] { return server->calls.back()->messages.size() == 1; }));
}

TEST_F(RpcReconnect, PausesGrowWhileNoServerAnswers) {
  ClientStage client{io, options()};

  ASSERT_TRUE(run_until(io, [&] { return client.closed.size() == 5; }));

  double base = 0.1;
  for (const Client::Closed& each : client.closed) {
    EXPECT_GE(to_seconds(each.retry_after), base * 0.5);
    EXPECT_LE(to_seconds(each.retry_after), base * 1.5);
    base *= kRetryGrowth;
  }
}

TEST_F(RpcReconnect, AServerThatIsKilledAndComesBackIsFoundAgain) {
  serve();
  ClientStage client{io, options()};
  ASSERT_TRUE(run_until(io, [&] { return client.connected == 1; }));
  server->calls.back()->call->write("welcome");
  ASSERT_TRUE(run_until(io, [&] { return client.messages.size() == 1; }));

  server->kill();
  ASSERT_TRUE(run_until(io, [&] { return !client.closed.empty(); }));
  EXPECT_EQ(client.closed.front().ending.code, Code::unavailable);
  EXPECT_TRUE(client.closed.front().connected);
  EXPECT_LE(client.closed.front().retry_after, milliseconds{150}) << "it had answered";
  EXPECT_FALSE(client.client().connected());

  server.reset();
  serve();
  ASSERT_TRUE(run_until(io, [&] { return client.connected == 2; }));
}

TEST_F(RpcReconnect, AnUnacceptablePeerIsTriedAtGrowingIntervals) {
  serve();
  ClientStage client{io, options()};
  client.on_connected = [&] { server->calls.back()->call->write("gibberish"); };
  client.on_message = [&](const std::string&) {
    client.client().reconnect({Code::failed_precondition, "not our protocol"});
  };

  ASSERT_TRUE(run_until(io, [&] { return client.closed.size() == 6; }));

  EXPECT_EQ(client.closed.back().ending.code, Code::failed_precondition);
  EXPECT_EQ(client.closed.back().ending.text, "not our protocol");
  EXPECT_GE(client.closed.back().retry_after, milliseconds{185});
}

TEST_F(RpcReconnect, AStoppedClientIsSilent) {
  serve();
  ClientStage client{io, options()};
  client.on_connected = [&] { client.client().stop(); };

  ASSERT_TRUE(run_until(
      io, [&] { return !server->calls.empty() && server->calls.back()->ending.has_value(); }));

  EXPECT_TRUE(client.closed.empty());
  EXPECT_FALSE(client.client().writable());
}

TEST_F(RpcReconnect, EitherSideMayBeDestroyedAtAnyMoment) {
  for (int turns = 0; turns < 12; ++turns) {
    serve();
    std::optional<ClientStage> client{std::in_place, io, options()};
    for (int i = 0; i < turns; ++i) io.poll_one();
    if (turns % 2 == 0) {
      server.reset();
      client.reset();
    } else {
      client.reset();
      server.reset();
    }
  }

  io.restart();
  io.run();  // nothing keeps it going any more
}

TEST_F(RpcReconnect, ASocketThatIsServedIsNotTakenAway) {
  serve();
  Server second{io, [](std::unique_ptr<Call>) {}};

  const auto refused = second.open({.address = address, .methods = {kMethod}});

  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().what.find(address), std::string::npos);
  ClientStage client{io, options()};
  ASSERT_TRUE(run_until(io, [&] { return client.connected == 1; }));
}

TEST_F(RpcReconnect, AStaleSocketIsReplaced) {
  {
    using Local = boost::asio::local::stream_protocol;
    const Local::acceptor left_behind{io, Local::endpoint{address.substr(5)}};
  }
  ASSERT_TRUE(std::filesystem::exists(address.substr(5)));

  serve();
  ClientStage client{io, options()};
  ASSERT_TRUE(run_until(io, [&] { return client.connected == 1; }));
}

TEST(RpcServer, APortInUseIsAProblem) {
  boost::asio::io_context io{1};
  const ServerStage first{io};
  Server second{io, [](std::unique_ptr<Call>) {}};

  const auto refused = second.open({.address = first.address(), .methods = {kMethod}});

  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().what.find(first.address()), std::string::npos);
}

TEST(RpcServer, AllInterfacesMeansLoopbackToo) {
  boost::asio::io_context io{1};
  const ServerStage server{io, {.address = ":0", .methods = {}}};
  ASSERT_NE(server.port(), 0);

  ClientStage client{io, {.target = ":" + std::to_string(server.port()), .method = {}}};

  ASSERT_TRUE(run_until(io, [&] { return client.connected == 1; }));
}

}  // namespace
}  // namespace sluice::rpc
