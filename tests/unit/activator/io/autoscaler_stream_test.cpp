#include "activator/io/autoscaler_stream.h"

#include "activator/io/autoscaler_call.h"
#include "common/proto/activator_stream_codec.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

namespace sluice::activator {
namespace {

using rpc::testing::run_until;
using rpc::testing::ServerStage;

// Replicas of an autoscaler, and the activator's way to them.
class AutoscalerStreamTest : public testing::Test {
 protected:
  using Replica = std::unique_ptr<ServerStage>;

  Replica replica() {
    return std::make_unique<ServerStage>(
        io, rpc::ServerOptions{.address = {}, .methods = {proto::kActivatorStreamMethod}});
  }

  void open(std::vector<std::string> targets) {
    auto made = AutoscalerStream::make(
        calls, log, {.targets = std::move(targets), .self = {"a", "127.0.0.1:1", "1"}},
        {.on_state = [](const auto&) {},
         .on_gone = [](const auto&) {},
         .on_reached = [this] { ++reached; },
         .held = [] { return std::vector<proto::Waiting>{}; }});
    ASSERT_TRUE(made.has_value());
    stream = std::move(*made);
    stream->start();
  }

  // Calls that a replica has now and that have said who calls.
  static std::size_t greeted(const ServerStage& replica) {
    std::size_t count = 0;
    for (const auto& call : replica.calls) {
      if (!call->ending && !call->messages.empty()) ++count;
    }
    return count;
  }

  static void welcome(ServerStage& replica) {
    replica.calls.back()->call->write(
        proto::encode(proto::AutoscalerMessage{proto::Welcome{.autoscaler = "r", .version = "1"}}));
  }

  boost::asio::io_context io;
  AutoscalerCalls calls{io, {.tls_dir = {}, .activator = "a"}};
  log::Logger log{"test", log::Severity::error};
  std::unique_ptr<AutoscalerStream> stream;
  int reached = 0;
};

TEST_F(AutoscalerStreamTest, GreetsEveryListedReplica) {
  const Replica first = replica();
  const Replica second = replica();

  open({first->address(), second->address()});

  EXPECT_TRUE(run_until(io, [&] { return greeted(*first) == 1 && greeted(*second) == 1; }));
}

TEST_F(AutoscalerStreamTest, GreetsAnAddedReplicaAndKeepsItsOtherStreams) {
  const Replica first = replica();
  const Replica second = replica();
  open({first->address()});
  ASSERT_TRUE(run_until(io, [&] { return greeted(*first) == 1; }));
  welcome(*first);
  ASSERT_TRUE(run_until(io, [&] { return reached == 1; }));

  stream->follow({first->address(), second->address()});

  EXPECT_TRUE(run_until(io, [&] { return greeted(*second) == 1; }));
  EXPECT_EQ(first->calls.size(), 1U);
  EXPECT_EQ(greeted(*first), 1U);
  EXPECT_TRUE(stream->reachable());
}

TEST_F(AutoscalerStreamTest, ClosesTheStreamOfARemovedReplica) {
  const Replica first = replica();
  const Replica second = replica();
  open({first->address()});
  ASSERT_TRUE(run_until(io, [&] { return greeted(*first) == 1; }));

  stream->follow({second->address()});

  EXPECT_TRUE(run_until(io, [&] { return greeted(*first) == 0 && greeted(*second) == 1; }));
  welcome(*second);
  EXPECT_TRUE(run_until(io, [&] { return stream->reachable(); }));
}

TEST_F(AutoscalerStreamTest, FollowsManyChangesAndEndsWithTheLast) {
  const Replica first = replica();
  const Replica second = replica();
  open({first->address()});
  for (int turn = 0; turn < 20; ++turn) {
    stream->follow({second->address()});
    stream->follow({first->address()});
    stream->follow({first->address(), second->address()});
  }

  EXPECT_TRUE(run_until(io, [&] { return greeted(*first) == 1 && greeted(*second) == 1; }));
}

}  // namespace
}  // namespace sluice::activator
