#include "common/rpc/call.h"

#include "common/net/h2/h2_fetch.h"
#include "common/proto/health_codec.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

namespace sluice::rpc {
namespace {

using testing::ClientStage;
using testing::kMethod;
using testing::run_until;
using testing::ServerStage;

class RpcCall : public ::testing::Test {
 protected:
  void meet() {
    server.emplace(io);
    client.emplace(io, ClientOptions{.target = server->address(), .method = {}});
    ASSERT_TRUE(run_until(io, [this] { return client->connected == 1; }));
  }

  testing::TakenCall& taken() { return *server->calls.back(); }

  boost::asio::io_context io{1};
  std::optional<ServerStage> server;
  std::optional<ClientStage> client;
};

TEST_F(RpcCall, MessagesGoBothWaysInOrder) {
  meet();
  for (const char* const text : {"one", "two", "three"}) {
    ASSERT_TRUE(run_until(io, [this] { return client->client().writable(); }));
    client->client().write(text);
    ASSERT_TRUE(run_until(io, [this] { return taken().call->writable(); }));
    taken().call->write(std::string{text} + " back");
  }

  ASSERT_TRUE(run_until(
      io, [this] { return taken().messages.size() == 3 && client->messages.size() == 3; }));

  EXPECT_EQ(taken().messages, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(client->messages, (std::vector<std::string>{"one back", "two back", "three back"}));
  EXPECT_TRUE(taken().call->peer().starts_with("ipv4:127.0.0.1:")) << taken().call->peer();
}

TEST_F(RpcCall, BytesArriveAsTheyAreUpToTheLargestMessage) {
  meet();
  std::string large(kMessageBytesMax, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 >> 3U);

  client->client().write(large);
  ASSERT_TRUE(run_until(io, [this] { return taken().messages.size() == 1; }));
  taken().call->write({});
  ASSERT_TRUE(run_until(io, [this] { return client->messages.size() == 1; }));

  EXPECT_TRUE(taken().messages.front() == large);
  EXPECT_EQ(client->messages.front(), "");
}

TEST_F(RpcCall, OneMessageIsOnItsWayAtATime) {
  meet();

  client->client().write("first");

  EXPECT_FALSE(client->client().writable());
  ASSERT_TRUE(run_until(io, [this] { return client->writables == 1; }));
  EXPECT_TRUE(client->client().writable());
}

TEST_F(RpcCall, TheServersLastWordReachesTheClient) {
  meet();
  const Ending refusal{Code::failed_precondition, "protocol 2 here, protocol 1 there"};

  taken().call->close(refusal);
  ASSERT_TRUE(run_until(io, [this] { return client->closed.size() == 1; }));

  EXPECT_EQ(client->closed.front().ending, refusal);
  EXPECT_TRUE(client->closed.front().connected);
  EXPECT_FALSE(taken().ending.has_value()) << "who closes is not told";
}

TEST_F(RpcCall, AClientThatGoesIsTold) {
  meet();

  client->kill();
  ASSERT_TRUE(run_until(io, [this] { return taken().ending.has_value(); }));

  EXPECT_EQ(taken().ending->code, Code::cancelled);
  EXPECT_FALSE(taken().call->writable());
}

TEST_F(RpcCall, AnyOtherMethodIsUnimplemented) {
  server.emplace(io);
  client.emplace(io, ClientOptions{.target = server->address(), .method = "/test.Stream/Shout"});

  ASSERT_TRUE(run_until(io, [this] { return client->closed.size() == 1; }));

  EXPECT_EQ(client->closed.front().ending.code, Code::unimplemented);
  EXPECT_NE(client->closed.front().ending.text.find(kMethod), std::string::npos);
  EXPECT_TRUE(server->calls.empty());
}

TEST_F(RpcCall, CallsBeyondTheLimitAreRefused) {
  server.emplace(io, ServerOptions{.address = {}, .methods = {}, .calls_max = 1});
  client.emplace(io, ClientOptions{.target = server->address(), .method = {}});
  ASSERT_TRUE(run_until(io, [this] { return client->connected == 1; }));

  ClientStage second{io, {.target = server->address(), .method = {}}};
  ASSERT_TRUE(run_until(io, [&second] { return second.closed.size() == 1; }));
  EXPECT_EQ(second.closed.front().ending.code, Code::resource_exhausted);

  client->kill();
  ASSERT_TRUE(run_until(io, [&second] { return second.connected == 1; }));
}

TEST_F(RpcCall, ACallThatNobodyTakesIsCancelled) {
  Server deaf{io, [](std::unique_ptr<Call>) {}};
  const auto bound = deaf.open({.address = "127.0.0.1:0", .methods = {kMethod}});
  ASSERT_TRUE(bound.has_value());
  client.emplace(io, ClientOptions{.target = bound->text(), .method = {}});

  ASSERT_TRUE(run_until(io, [this] { return client->closed.size() == 1; }));

  EXPECT_EQ(client->closed.front().ending.code, Code::cancelled);
}

TEST_F(RpcCall, MayBeDroppedWithinItsOwnEvent) {
  meet();
  std::unique_ptr<Call> held;
  Server other{io, [&held](std::unique_ptr<Call> call) {
                 held = std::move(call);
                 held->start({.on_message = [&held](const std::string&) { held.reset(); },
                              .on_writable = {},
                              .on_closed = {}});
               }};
  const auto bound = other.open({.address = "127.0.0.1:0", .methods = {kMethod}});
  ASSERT_TRUE(bound.has_value());
  ClientStage caller{io, {.target = bound->text(), .method = {}}};
  caller.on_connected = [&caller] { caller.client().write("go"); };

  ASSERT_TRUE(run_until(io, [&caller] { return !caller.closed.empty(); }));

  EXPECT_EQ(caller.closed.front().ending.code, Code::cancelled);
}

// Goal: a peer that takes nothing costs one message, for a limited time, and gets the reason for
// its end. Method: the client's thread is paused while the server fills the connection's buffers.
TEST_F(RpcCall, APeerThatReadsNothingIsClosed) {
  boost::asio::io_context still{1};
  server.emplace(io, ServerOptions{.address = {},
                                   .methods = {},
                                   .tls_dir = {},
                                   .calls_max = 10,
                                   .write_limit = std::chrono::milliseconds{100}});
  ClientStage reader{still, {.target = server->address(), .method = {}}};
  ASSERT_TRUE(run_until(io, [this] { return server->calls.size() == 1; }));

  ASSERT_TRUE(run_until(io, [this] {
    if (taken().call->writable()) taken().call->write(std::string(kMessageBytesMax, 'x'));
    return taken().ending.has_value();
  }));
  EXPECT_EQ(taken().ending->code, Code::resource_exhausted);

  ASSERT_TRUE(run_until(still, [&reader] { return !reader.closed.empty(); }));
  EXPECT_EQ(reader.closed.front().ending, *taken().ending);
}

TEST_F(RpcCall, TheServerIsFoundHealthy) {
  server.emplace(io);
  std::optional<proto::Health> health;
  const auto ask = [&](std::unique_ptr<net::H2Fetch>& fetch) {
    health.reset();
    const net::Address target{"127.0.0.1", server->port(), {}};
    fetch = std::make_unique<net::H2Fetch>(
        io,
        net::H2FetchRequest{.target = target,
                            .method = "POST",
                            .authority = target.text(),
                            .path = "/grpc.health.v1.Health/Check",
                            .fields = {{"content-type", "application/grpc"}, {"te", "trailers"}},
                            .body = proto::encode_health_check("")},
        [&health](const Result<net::H2FetchResponse>& response) {
          const auto read = response ? proto::decode_health(response->body) : Error::io_failed;
          health = read ? *read : proto::Health::unknown;
        });
    return run_until(io, [&health] { return health.has_value(); });
  };

  std::unique_ptr<net::H2Fetch> fetch;
  ASSERT_TRUE(ask(fetch));
  EXPECT_EQ(*health, proto::Health::serving);
}

}  // namespace
}  // namespace sluice::rpc
