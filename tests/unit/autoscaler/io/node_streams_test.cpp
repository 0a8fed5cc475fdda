#include "autoscaler/io/node_streams.h"

#include "common/loop/asio_loop.h"
#include "common/proto/node_stream_codec.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace sluice::autoscaler {
namespace {

using rpc::testing::ClientStage;

class NodeStreamsTest : public ::testing::Test {
 protected:
  NodeStreamsTest() {
    const auto bound =
        server_.open({.address = "127.0.0.1:0", .methods = {proto::kNodeStreamMethod}});
    EXPECT_TRUE(bound.has_value());
    address_ = bound->text();
  }

  std::unique_ptr<ClientStage> connect() {
    auto client = std::make_unique<ClientStage>(
        io_, rpc::ClientOptions{.target = address_, .method = proto::kNodeStreamMethod});
    client->on_connected = [&client = *client] {
      proto::NodeReport report;
      report.node = "n1";
      report.sequence = 1;
      client.client().write(proto::encode(report));
    };
    return client;
  }

  bool eventually(const std::function<bool()>& done) { return rpc::testing::run_until(io_, done); }

  boost::asio::io_context io_;
  Clock clock_;
  log::Logger log_{"test", log::Severity::error};
  NodeBook book_;
  Refusals refusals_{clock_, log_};
  AsioLoop time_{io_, clock_};
  NodeStreams streams_{time_, log_, book_, refusals_, [] {}};
  rpc::Server server_{io_,
                      [this](std::unique_ptr<rpc::Call> call) { streams_.take(std::move(call)); }};
  std::string address_;
};

TEST_F(NodeStreamsTest, AReportIsAcknowledgedByAReplicaThatHasNoLeases) {
  const auto agent = connect();

  EXPECT_TRUE(eventually([&] { return agent->messages.size() == 1; }));
  EXPECT_EQ(book_.reporting(), 1U);
}

TEST_F(NodeStreamsTest, AReplicaThatDoesNotLeadRefusesAsUnavailable) {
  streams_.set_leading(false);

  const auto agent = connect();

  ASSERT_TRUE(eventually([&] { return !agent->closed.empty(); }));
  EXPECT_EQ(agent->closed[0].ending.code, rpc::Code::unavailable);
  EXPECT_NE(agent->closed[0].ending.text.find("first bucket"), std::string::npos);
  EXPECT_EQ(book_.reporting(), 0U);
}

TEST_F(NodeStreamsTest, StreamsEndAsUnavailableWhenTheReplicaNoLongerLeads) {
  const auto agent = connect();
  ASSERT_TRUE(eventually([&] { return agent->messages.size() == 1; }));

  streams_.set_leading(false);

  ASSERT_TRUE(eventually([&] { return !agent->closed.empty(); }));
  EXPECT_EQ(agent->closed[0].ending.code, rpc::Code::unavailable);
  EXPECT_EQ(streams_.open(), 0U);
}

TEST_F(NodeStreamsTest, AReplicaThatLeadsAgainTakesReportsAgain) {
  streams_.set_leading(false);
  const auto agent = connect();
  ASSERT_TRUE(eventually([&] { return !agent->closed.empty(); }));

  streams_.set_leading(true);

  EXPECT_TRUE(eventually([&] { return !agent->messages.empty(); }));
}

}  // namespace
}  // namespace sluice::autoscaler
