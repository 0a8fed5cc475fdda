#include "autoscaler/io/activator_streams.h"

#include "autoscaler/io/activator_call.h"
#include "common/loop/asio_loop.h"
#include "common/proto/activator_stream_codec.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include <optional>

namespace sluice::autoscaler {
namespace {

using rpc::testing::ClientStage;
using rpc::testing::run_until;
using std::chrono::microseconds;

const RevisionId kApp{"default", "app-00001"};

// Whole names make a Welcome that takes milliseconds to write.
proto::Buckets many_buckets() {
  proto::Buckets buckets;
  for (int i = 0; i < 60'000; ++i)
    buckets.all.push_back("a-bucket-with-a-long-name-" + std::to_string(i));
  return buckets;
}

class ActivatorStreamsTest : public ::testing::Test {
 protected:
  ActivatorStreamsTest() {
    const auto bound =
        server_.open({.address = "127.0.0.1:0", .methods = {proto::kActivatorStreamMethod}});
    EXPECT_TRUE(bound.has_value());
    address_ = bound->text();
  }

  std::unique_ptr<ClientStage> connect() {
    auto client = std::make_unique<ClientStage>(
        io_, rpc::ClientOptions{.target = address_, .method = proto::kActivatorStreamMethod});
    EXPECT_TRUE(run_until(io_, [&] { return client->connected == 1; }));
    return client;
  }

  static void greet(ClientStage& client, const std::string& name) {
    client.client().write(proto::encode(proto::ActivatorMessage{
        proto::Hello{.activator = name, .address = "10.0.0.9:8012", .version = "1"}}));
  }

  [[nodiscard]] bool told(const ClientStage& client, std::size_t messages) {
    return run_until(io_, [&] { return client.messages.size() == messages; });
  }

  void set_desired(std::int32_t desired) {
    hub_.set_state({.revision = kApp, .desired = desired}, clock_.now());
  }

  boost::asio::io_context io_;
  Clock clock_;
  log::Logger log_{"test", log::Severity::error};
  ActivatorHub hub_{{"replica", "1"}, {}, clock_.now()};
  AsioLoop time_{io_, clock_};
  ActivatorStreams streams_{time_, log_, hub_, [](const ActivatorHub::Heard&) {}};
  rpc::Server server_{io_, [this](std::unique_ptr<rpc::Call> call) {
                        streams_.take(std::make_unique<ActivatorCall>(std::move(call)));
                      }};
  std::string address_;
};

// Goal: news held back for its pace goes out, though its time comes in the middle of other sends.
// Method: the first activator's pause ends while the second one's Welcome is made.
TEST_F(ActivatorStreamsTest, AMessageThatBecomesDueWhileOthersAreSentIsSent) {
  const auto first = connect();
  const auto second = connect();
  set_desired(1);
  greet(*first, "first");
  ASSERT_TRUE(told(*first, 3)) << "a Welcome, a state, the end of the snapshot";
  hub_.set_buckets(many_buckets());
  set_desired(2);
  streams_.news();
  ASSERT_TRUE(told(*first, 5));

  // Its Hello is received, and nothing is sent yet.
  greet(*second, "second");
  while (hub_.connected() < 2) io_.run_one();
  set_desired(3);
  const auto due = hub_.next_due(clock_.now());
  while (due && clock_.now() < *due - microseconds{500}) {
  }

  EXPECT_TRUE(told(*first, 6));
}

}  // namespace
}  // namespace sluice::autoscaler
