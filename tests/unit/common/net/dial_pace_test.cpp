// How a crowd gets its connections.

#include "common/net/upstream/dial_pace.h"

#include "common/net/socket.h"
#include "common/net/upstream/dial_plan.h"
#include "tests/unit/common/net/stage.h"

#include <deque>
#include <sys/socket.h>

namespace sluice::net::testing {
namespace {

int taken(DialPace& pace) {
  int count = 0;
  while (pace.take()) ++count;
  return count;
}

TEST(DialPace, OpensOnlySoManyAtOnce) {
  DialPace pace;
  EXPECT_EQ(taken(pace), DialPace::kAtOnce);
}

TEST(DialPace, OpensAGrowingNumberWhileNoneReturn) {
  DialPace pace;
  (void)taken(pace);
  int opened = 0;
  for (int step = DialPace::kAtOnce; step <= DialPace::kStepMax; step *= 2) {
    pace.tick();
    EXPECT_EQ(taken(pace), step);
    opened += step;
  }
  pace.tick();
  EXPECT_EQ(taken(pace), DialPace::kStepMax);
  EXPECT_GT(opened, 8000);
}

TEST(DialPace, OpensFewWhileThoseOpenReturn) {
  DialPace pace;
  (void)taken(pace);
  pace.tick();
  (void)taken(pace);
  for (int i = 0; i < DialPace::kAmidReturns; ++i) pace.returned();
  pace.tick();
  EXPECT_EQ(taken(pace), DialPace::kAmidReturns);
  pace.tick();
  EXPECT_EQ(taken(pace), DialPace::kAtOnce);
}

TEST(DialPace, ServesSixteenATickWhateverReturns) {
  for (int returns = 0; returns <= DialPace::kAmidReturns; ++returns) {
    DialPace pace;
    (void)taken(pace);
    for (int i = 0; i < returns; ++i) pace.returned();
    pace.tick();
    EXPECT_GE(returns + taken(pace), DialPace::kAmidReturns);
  }
}

TEST(DialPace, SavesNothingUp) {
  DialPace pace;
  pace.tick();
  pace.tick();
  EXPECT_LE(taken(pace), 2 * DialPace::kAtOnce);
  pace.rest();
  EXPECT_EQ(taken(pace), DialPace::kAtOnce);
}

class CrowdTest : public Stage {
 protected:
  static constexpr std::size_t kMany = 300;

  void come() {
    for (std::size_t i = 0; i < kMany; ++i) {
      clients_.emplace_back(address_);
      clients_.back().send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    }
  }

  std::deque<Client> clients_;
};

TEST_F(CrowdTest, IsAnsweredWhole) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"}});
  come();
  for (Client& client : clients_) until_seen(client, "hello");
  EXPECT_EQ(upstream_.requests(), kMany);
  expect_quiet();
}

TEST_F(CrowdTest, ReachesTheUpstreamWholeBeforeAnyAnswer) {
  upstream_.play({{""}});
  come();
  until([this] { return upstream_.requests() == kMany; });
  EXPECT_EQ(upstream_.connections(), kMany);
}

TEST_F(CrowdTest, IsServedThoughConnectionsEndAfterOneAnswer) {
  upstream_.play(
      {{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", ScriptedUpstream::After::close}});
  come();
  for (Client& client : clients_) until_seen(client, "hello");
  EXPECT_EQ(upstream_.requests(), kMany);
  expect_quiet();
}

TEST_F(CrowdTest, LeavesNothingBehindWhenItLeaves) {
  upstream_.play({{""}});
  come();
  until([this] { return upstream_.requests() > 0; });
  clients_.clear();
  expect_quiet();
}

TEST(RoundTrip, IsNotKnownOfAUnixSocket) {
  boost::asio::io_context io{1};
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Socket near{io, boost::asio::generic::stream_protocol{AF_UNIX, 0}, ends[0]};
  Socket far{io, boost::asio::generic::stream_protocol{AF_UNIX, 0}, ends[1]};

  EXPECT_EQ(round_trip_of(near), Duration{0});
}

TEST(DialPlan, GivesADistantPeerSeveralRoundTripsAtOnce) {
  DialPlan near{7, std::chrono::seconds{20}, std::chrono::milliseconds{1}};
  DialPlan distant{7, std::chrono::seconds{20}, std::chrono::milliseconds{200}};

  EXPECT_LT(near.next_try(), std::chrono::milliseconds{60});
  EXPECT_GE(distant.next_try(), std::chrono::milliseconds{600});
}

}  // namespace
}  // namespace sluice::net::testing
