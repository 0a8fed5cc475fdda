#include "tests/unit/common/net/tls_peer.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include "memory-pressure/io/report_stream.h"
#include <filesystem>

namespace sluice::node_agent {
namespace {

using proto::NodePressure;
using proto::NodeReport;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1'000}};

NodeReport calm() {
  NodeReport report;
  report.pressure = NodePressure::ok;
  report.capacity_bytes = 1'000;
  report.admit_bytes = 500;
  return report;
}

class Pace : public ::testing::Test {
 protected:
  Pace() { pace.sent(calm(), kStart); }

  bool due(const NodeReport& next, Duration later) const {
    return pace.due(next) <= kStart + later;
  }

  ReportPace pace{7};
};

TEST_F(Pace, TheFirstReportOfAStreamGoesAtOnce) {
  pace.restart();

  EXPECT_TRUE(due(calm(), {}));
}

TEST_F(Pace, NothingNewWaitsForTheIntervalGiveOrTakeATenth) {
  EXPECT_FALSE(due(calm(), milliseconds{8'999}));
  EXPECT_TRUE(due(calm(), milliseconds{11'001}));
}

TEST_F(Pace, APressureThatChangesIsToldAtMostFourTimesASecond) {
  NodeReport next = calm();
  next.pressure = NodePressure::high;

  EXPECT_FALSE(due(next, milliseconds{249}));
  EXPECT_TRUE(due(next, milliseconds{250}));
}

TEST_F(Pace, WhoIsThrottledIsToldSoon) {
  NodeReport next = calm();
  next.throttled.push_back({});

  EXPECT_TRUE(due(next, milliseconds{250}));
}

TEST_F(Pace, TheGateIsToldWhenItMovesByMoreThanATenthOfCapacity) {
  NodeReport next = calm();
  next.admit_bytes = 400;
  EXPECT_FALSE(due(next, seconds{5}));
  next.admit_bytes = 399;
  EXPECT_TRUE(due(next, seconds{5}));
}

TEST_F(Pace, TheIntervalIsTheAutoscalersToSay) {
  pace.set_interval(seconds{1});
  pace.sent(calm(), kStart);

  EXPECT_FALSE(due(calm(), milliseconds{899}));
  EXPECT_TRUE(due(calm(), milliseconds{1'101}));
}

// An address without a replica, and one that takes reports over mutual TLS.
class ReportStreamTest : public ::testing::Test {
 protected:
  ReportStreamTest() {
    folder.write("ca.crt", authority.pem());
    folder.write("tls.key", pair.key);
    folder.write("tls.crt", pair.certificate);
    server.emplace(
        io, rpc::ServerOptions{
                .address = {}, .methods = {proto::kNodeStreamMethod}, .tls_dir = folder.path()});
  }

  void turn_for(Duration time) {
    const TimePoint end = clock.now() + time;
    boost::asio::steady_timer timer{io, time};
    timer.async_wait([](auto) {});
    ASSERT_TRUE(rpc::testing::run_until(io, [&] { return clock.now() >= end; }));
  }

  boost::asio::io_context io;
  Clock clock;
  log::Logger log{"test", log::Severity::error};
  net::testing::TlsAuthority authority{"authority"};
  net::TlsPair pair = authority.issue("IP:127.0.0.1");
  rpc::testing::TestFolder folder;
  std::optional<rpc::testing::ServerStage> server;
};

// Goal: a certificate that is being replaced while the next replica is called costs no reports.
// Method: the file is away for several pauses between two calls, and then back.
TEST_F(ReportStreamTest, ACertificateThatIsAwayForAMomentIsAskedForAgain) {
  const std::string nobody = "unix:" + folder.path() + "/nobody";
  ReportStream stream{
      io, clock, log, {.addresses = {nobody, server->address()}, .tls_dir = folder.path()}, [] {
        return calm();
      }};
  ASSERT_FALSE(stream.start().has_value());
  std::filesystem::remove(folder.path() + "/tls.crt");
  turn_for(4 * rpc::retry_pause(1, 0.5));
  ASSERT_FALSE(stream.connected());

  folder.write("tls.crt", pair.certificate);

  EXPECT_TRUE(rpc::testing::run_until(io, [&] { return stream.reports() == 1; }));
  stream.stop();
}

}  // namespace
}  // namespace sluice::node_agent
