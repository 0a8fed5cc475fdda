#include "autoscaler/io/holder_socket.h"

#include "autoscaler/io/stat_forwarder.h"
#include "autoscaler/io/stat_socket.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

bool run_until(boost::asio::io_context& io, const std::function<bool()>& done) {
  boost::asio::steady_timer limit{io, seconds{30}};
  bool late = false;
  limit.async_wait([&late](const auto& error) { late = !error; });
  io.restart();
  while (!late && !done()) io.run_one();
  return done();
}

/// The door of another replica, with what came through it.
class HolderSocketTest : public ::testing::Test {
 protected:
  HolderSocketTest() {
    const auto bound = door.open({.host = "127.0.0.1", .port = 0, .path = {}});
    EXPECT_TRUE(bound.has_value());
    address = "ws://" + bound->text();
  }

  static HolderSocket::Stats stats(int count) {
    HolderSocket::Stats all;
    for (int i = 0; i < count; ++i) {
      all.push_back({.revision = {"shop", "app"},
                     .stat = {.average_concurrency = 3, .request_count = 5},
                     .at = TimePoint{seconds{1'700'000'000}}});
    }
    return all;
  }

  HolderSocket::Events events() {
    return {.sent = [this](std::size_t count) { sent += count; },
            .failed = [this](const HolderSocket::Stats& back) { failed += back.size(); }};
  }

  boost::asio::io_context io;
  log::Logger log{"test", log::Severity::error};
  std::vector<proto::StatMessage> came;
  StatSocket door{io, log, {}, {.stats = [this](std::span<const proto::StatMessage> all) {
                    came.insert(came.end(), all.begin(), all.end());
                  }}};
  std::string address;
  std::size_t sent = 0;
  std::size_t failed = 0;
};

TEST_F(HolderSocketTest, StatsArriveWithTheirTimestamps) {
  HolderSocket socket{io, {address}, events()};
  socket.send(stats(3));

  ASSERT_TRUE(run_until(io, [&] { return came.size() == 3 && sent == 3; }));
  EXPECT_EQ(came[0].revision, (RevisionId{"shop", "app"}));
  EXPECT_EQ(came[0].stat.timestamp, 1'700'000'000);
  EXPECT_EQ(came[0].stat.average_concurrent_requests, 3);
}

TEST_F(HolderSocketTest, TheNextAddressIsTriedWhenTheFirstDoesNotAnswer) {
  HolderSocket socket{io, {"ws://127.0.0.1:1", address}, events()};
  socket.send(stats(2));

  EXPECT_TRUE(run_until(io, [&] { return came.size() == 2; }));
}

TEST_F(HolderSocketTest, StatsThatCannotBeSentAreReturned) {
  HolderSocket socket{io, {"ws://127.0.0.1:1"}, events()};
  socket.send(stats(2));

  EXPECT_TRUE(run_until(io, [&] { return failed == 2; }));
}

TEST_F(HolderSocketTest, StatsBeyondTheQueueLimitAreReturned) {
  HolderSocket socket{io, {address}, events()};
  socket.send(stats(static_cast<int>(HolderSocket::kWaitingMax) + 5));

  EXPECT_TRUE(
      run_until(io, [&] { return failed == 5 && came.size() == HolderSocket::kWaitingMax; }));
}

TEST_F(HolderSocketTest, StatsOfOursAreRecordedAndOthersWaitForTheirHolder) {
  const Clock clock;
  std::size_t recorded = 0;
  StatForwarder forwarder{
      io,
      clock,
      log,
      {"pod-1", "10.0.0.1"},
      {"b-0"},
      {.space = "sluice-system"},
      [&recorded](std::span<const proto::StatMessage> all) { recorded += all.size(); }};
  const proto::StatMessage message{{"shop", "app"}, {.average_concurrent_requests = 1}};
  forwarder.holder_is("b-0", Holder{"pod-1", "10.0.0.1"});
  forwarder.take({&message, 1});
  EXPECT_EQ(recorded, 0U) << "the lease is in our name, and we do not hold it";

  const std::vector<std::string> owned{"b-0"};
  forwarder.set_owned(owned);

  ASSERT_TRUE(run_until(io, [&] { return recorded == 1; }));
  forwarder.take({&message, 1});
  EXPECT_EQ(recorded, 2U);
}

}  // namespace
}  // namespace sluice::autoscaler
