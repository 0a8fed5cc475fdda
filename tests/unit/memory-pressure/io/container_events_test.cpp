#include "memory-pressure/io/container_events.h"

#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using rpc::testing::ServerStage;
using rpc::testing::TestFolder;

class Events : public ::testing::Test {
 protected:
  void serve(const std::string& method) {
    server.emplace(io, rpc::ServerOptions{.address = "unix:" + socket, .methods = {method}});
  }

  [[nodiscard]] bool asked(std::size_t times) {
    return run_until(io, [&] {
      return server->calls.size() == times && server->calls.back()->messages.size() == 1;
    });
  }

  void tell() {
    ASSERT_TRUE(run_until(io, [this] { return server->calls.back()->call->writable(); }));
    server->calls.back()->call->write("an event");
  }

  boost::asio::io_context io{1};
  TestFolder folder;
  std::string socket = folder.path() + "/cri.sock";
  log::Logger log{"node-agent", log::Severity::error};
  std::optional<ServerStage> server;
  int news = 0;
  ContainerEvents events{io, log, [this] { ++news; }};
};

constexpr const char* kEvents = "/runtime.v1.RuntimeService/GetContainerEvents";

TEST_F(Events, OneEmptyMessageSubscribesAndEventsAreReported) {
  serve(kEvents);
  events.start(socket);

  ASSERT_TRUE(asked(1));
  EXPECT_EQ(server->calls.back()->messages.front(), "");
  EXPECT_EQ(news, 0);
  tell();

  EXPECT_TRUE(run_until(io, [this] { return news == 1; }));
}

TEST_F(Events, ManyEventsAtOnceAreReportedTogether) {
  serve(kEvents);
  events.start(socket);
  ASSERT_TRUE(asked(1));

  for (int i = 0; i < 50; ++i) tell();

  EXPECT_TRUE(run_until(io, [this] { return news >= 2; }));
  EXPECT_LT(news, 50);
}

TEST_F(Events, ARestartedRuntimeIsSubscribedToAgain) {
  serve(kEvents);
  events.start(socket);
  ASSERT_TRUE(asked(1));

  server.reset();
  serve(kEvents);

  ASSERT_TRUE(asked(1));
  tell();
  EXPECT_TRUE(run_until(io, [this] { return news == 1; }));
}

TEST_F(Events, ARuntimeWithoutEventsIsLeftAlone) {
  serve("/runtime.v1.RuntimeService/Other");
  events.start(socket);

  EXPECT_TRUE(run_until(io, [this] { return events.unsupported(); }));
  EXPECT_EQ(news, 0);
}

}  // namespace
}  // namespace sluice::node_agent
