#include "common/loop/asio_loop.h"
#include "tests/unit/common/net/tls_peer.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include "memory-pressure/io/reports.h"
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

TEST_F(Pace, TheFirstReportOfAStreamIsSentAtOnce) {
  EXPECT_LE(ReportPace{7}.due(calm()), kStart);
}

TEST_F(Pace, AnUnchangedReportWaitsForTheIntervalGiveOrTakeATenth) {
  EXPECT_FALSE(due(calm(), milliseconds{8'999}));
  EXPECT_TRUE(due(calm(), milliseconds{11'001}));
}

TEST_F(Pace, AChangeOfPressureIsReportedAtMostFourTimesASecond) {
  NodeReport next = calm();
  next.pressure = NodePressure::high;

  EXPECT_FALSE(due(next, milliseconds{249}));
  EXPECT_TRUE(due(next, milliseconds{250}));
}

TEST_F(Pace, AThrottledContainerIsReportedSoon) {
  NodeReport next = calm();
  next.throttled.push_back({});

  EXPECT_TRUE(due(next, milliseconds{250}));
}

TEST_F(Pace, TheGateIsReportedWhenItMovesByMoreThanATenthOfCapacity) {
  NodeReport next = calm();
  next.admit_bytes = 400;
  EXPECT_FALSE(due(next, seconds{5}));
  next.admit_bytes = 399;
  EXPECT_TRUE(due(next, seconds{5}));
}

TEST_F(Pace, TheIntervalIsSetByTheAutoscaler) {
  pace.set_interval(seconds{1});
  pace.sent(calm(), kStart);

  EXPECT_FALSE(due(calm(), milliseconds{899}));
  EXPECT_TRUE(due(calm(), milliseconds{1'101}));
}

// Replicas that take reports over mutual TLS.
class ReportsTest : public ::testing::Test {
 protected:
  ReportsTest() {
    folder.write("ca.crt", authority.pem());
    folder.write("tls.key", pair.key);
    folder.write("tls.crt", pair.certificate);
    for (auto* server : {&one, &other}) {
      server->emplace(
          io, rpc::ServerOptions{
                  .address = {}, .methods = {proto::kNodeStreamMethod}, .tls_dir = folder.path()});
    }
  }

  // The server under the name of this machine.
  static std::string named(const rpc::testing::ServerStage& server) {
    const std::string address = server.address();
    return "localhost" + address.substr(address.rfind(':'));
  }

  Reports::Options to(std::vector<std::string> addresses) {
    return {.addresses = std::move(addresses), .tls_dir = folder.path()};
  }

  boost::asio::io_context io;
  Clock clock;
  AsioLoop loop{io, clock};
  log::Logger log{"test", log::Severity::error};
  net::testing::TlsAuthority authority{"authority"};
  net::TlsPair pair = authority.issue("IP:127.0.0.1,DNS:localhost");
  rpc::testing::TestFolder folder;
  std::optional<rpc::testing::ServerStage> one;
  std::optional<rpc::testing::ServerStage> other;
};

TEST_F(ReportsTest, ReachesEveryOtherReplicaWhenOneIsUnreachable) {
  const std::string vacant = "unix:" + folder.path() + "/vacant";
  Reports reports{io, loop, log, to({vacant, one->address(), named(*other)}),
                  [] { return calm(); }};
  ASSERT_FALSE(reports.start().has_value());

  EXPECT_TRUE(rpc::testing::run_until(io, [&] { return reports.reports() == 2; }));
  EXPECT_TRUE(reports.connected());
  reports.stop();
}

// Goal: a certificate that is being replaced while a replica is looked up costs no reports.
// Method: the file is away when the answer comes, and then back.
TEST_F(ReportsTest, AMissingCertificateIsReadAgain) {
  Reports reports{io, loop, log, to({named(*one)}), [] { return calm(); }};
  ASSERT_FALSE(reports.start().has_value());
  std::filesystem::remove(folder.path() + "/tls.crt");
  const TimePoint end = clock.now() + std::chrono::milliseconds{300};
  boost::asio::steady_timer timer{io, std::chrono::milliseconds{300}};
  timer.async_wait([](auto) {});
  ASSERT_TRUE(rpc::testing::run_until(io, [&] { return clock.now() >= end; }));
  ASSERT_FALSE(reports.connected());

  folder.write("tls.crt", pair.certificate);

  EXPECT_TRUE(rpc::testing::run_until(io, [&] { return reports.reports() == 1; }));
  reports.stop();
}

TEST_F(ReportsTest, AMissingCertificateIsSaidAtTheStart) {
  std::filesystem::remove(folder.path() + "/tls.crt");
  Reports reports{io, loop, log, to({named(*one)}), [] { return calm(); }};

  EXPECT_TRUE(reports.start().has_value());
}

}  // namespace
}  // namespace sluice::node_agent
