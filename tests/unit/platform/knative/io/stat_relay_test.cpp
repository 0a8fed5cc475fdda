#include "platform/knative/io/stat_relay.h"

#include "autoscaler/io/stat_socket.h"
#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice::autoscaler {
namespace {

using kube::testing::run_until;

class StatRelayTest : public ::testing::Test {
 protected:
  static proto::StatMessage message(const std::string& name) {
    proto::StatMessage message;
    message.revision = {"shop", name};
    message.stat.average_concurrent_requests = 3;
    message.stat.timestamp = 1'800'000'000;
    return message;
  }

  boost::asio::io_context io;
  Clock clock;
  log::Logger log{"test", log::Severity::error};
  std::vector<proto::StatMessage> came;
  StatSocket theirs{io, log, {"bucket"}, {.stats = [this](std::span<const proto::StatMessage> all) {
                      came.insert(came.end(), all.begin(), all.end());
                    }}};
};

TEST_F(StatRelayTest, OnlyStatsOfOtherOwnersAreRelayedWithTheirTimestamp) {
  const auto door = theirs.open(*net::parse_address("127.0.0.1:0"));
  ASSERT_TRUE(door);
  StatRelay relay{io, clock, log, door->text()};
  const std::array all{message("ours"), message("theirs")};

  relay.take(all, [](const RevisionId& id) { return id.name == "theirs"; });

  ASSERT_TRUE(run_until(io, [&] { return !came.empty() && relay.counts().relayed == 1; }));
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].revision.name, "theirs");
  EXPECT_EQ(came[0].stat.timestamp, 1'800'000'000);
  EXPECT_EQ(came[0].stat.average_concurrent_requests, 3);
}

TEST_F(StatRelayTest, StatsThatCannotBeRelayedAreDroppedAndCounted) {
  const auto door = theirs.open(*net::parse_address("127.0.0.1:0"));
  ASSERT_TRUE(door);
  net::Address vacant = *door;
  vacant.port = 1;
  StatRelay relay{io, clock, log, vacant.text()};
  const std::array all{message("theirs")};

  relay.take(all, [](const RevisionId&) { return true; });

  ASSERT_TRUE(run_until(io, [&] { return relay.counts().dropped == 1; }));
  EXPECT_EQ(relay.counts().relayed, 0U);
}

}  // namespace
}  // namespace sluice::autoscaler
