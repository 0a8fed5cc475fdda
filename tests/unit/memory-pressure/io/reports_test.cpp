// An agent and replicas of the autoscaler that are played: servers over mutual TLS, of which one
// takes reports and the others refuse.

#include "memory-pressure/io/reports.h"

#include "common/loop/asio_loop.h"
#include "common/loop/manual_loop.h"
#include "common/proto/node_stream_codec.h"
#include "tests/unit/common/net/tls_peer.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <boost/asio/steady_timer.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::node_agent {
namespace {

using proto::NodePressure;
using proto::NodeReport;
using rpc::testing::run_until;

class PlayedReplica {
 public:
  PlayedReplica(boost::asio::io_context& io, const std::string& tls_dir)
      : server_{io, [this](std::unique_ptr<rpc::Call> call) { take(std::move(call)); }} {
    const auto bound = server_.open(
        {.address = "127.0.0.1:0", .methods = {proto::kNodeStreamMethod}, .tls_dir = tls_dir});
    EXPECT_TRUE(bound.has_value());
    port_ = std::to_string(bound->port);
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + port_; }

  // Under the name of this machine.
  [[nodiscard]] std::string named() const { return "localhost:" + port_; }

  // How calls are refused from now on, and those that are open end.
  void refuse(rpc::Code code) {
    refusal_ = rpc::Ending{code, "another one leads"};
    for (auto& [id, call] : calls_) call->close(*refusal_);
    calls_.clear();
  }

  void lead() { refusal_.reset(); }

  bool silent = false;  // takes calls, and acknowledges nothing
  int called = 0;
  std::vector<NodeReport> heard;

 private:
  void take(std::unique_ptr<rpc::Call> call) {
    ++called;
    if (refusal_) return call->close(*refusal_);
    const int id = called;
    rpc::Call& started = *call;
    calls_.emplace(id, std::move(call));
    started.start({.on_message =
                       [this, &started](const std::string& bytes) {
                         heard.push_back(*proto::decode_node_report(bytes));
                         if (silent || !started.writable()) return;
                         started.write(proto::encode(
                             proto::NodeReportAck{.sequence = heard.back().sequence}));
                       },
                   .on_writable = {},
                   .on_closed = [this, id](const rpc::Ending&) { calls_.erase(id); }});
  }

  std::optional<rpc::Ending> refusal_;
  std::map<int, std::unique_ptr<rpc::Call>> calls_;
  rpc::Server server_;
  std::string port_;
};

class ReportsTest : public ::testing::Test {
 protected:
  ReportsTest() {
    report.node = "n1";
    report.pressure = NodePressure::ok;
    report.capacity_bytes = 1'000;
    folder.write("ca.crt", authority.pem());
    folder.write("tls.key", pair.key);
    folder.write("tls.crt", pair.certificate);
    one.emplace(io, folder.path());
    other.emplace(io, folder.path());
  }

  std::unique_ptr<Reports> to(Loop& time, std::vector<std::string> addresses) {
    return std::make_unique<Reports>(
        io, time, log,
        Reports::Options{.addresses = std::move(addresses), .tls_dir = folder.path()},
        [this] { return report; });
  }

  std::unique_ptr<Reports> started(std::vector<std::string> addresses) {
    auto made = to(loop, std::move(addresses));
    EXPECT_FALSE(made->start().has_value());
    return made;
  }

  void throttle(const std::string& pod) {
    proto::ThrottledContainer& held = report.throttled.emplace_back();
    held.pod_uid = "uid";
    held.space = "default";
    held.pod = pod;
    held.container = "user";
  }

  bool eventually(const std::function<bool()>& done) { return run_until(io, done); }

  boost::asio::io_context io;
  Clock clock;
  AsioLoop loop{io, clock};
  log::Logger log{"test", log::Severity::error};
  NodeReport report;
  net::testing::TlsAuthority authority{"authority"};
  net::TlsPair pair = authority.issue("IP:127.0.0.1,DNS:localhost");
  rpc::testing::TestFolder folder;
  std::optional<PlayedReplica> one;
  std::optional<PlayedReplica> other;
};

TEST_F(ReportsTest, GoToTheReplicaThatTakesThemAndAddressesBeforeItAreTriedOnce) {
  const std::string vacant = "unix:" + folder.path() + "/vacant";
  one->refuse(rpc::Code::unavailable);

  const auto reports = started({vacant, one->named(), other->named()});

  ASSERT_TRUE(eventually([&] { return reports->connected(); }));
  EXPECT_EQ(one->called, 1) << "tried once, and left";
  EXPECT_EQ(other->called, 1);
  EXPECT_EQ(other->heard.size(), 1U);
  reports->stop();
}

TEST_F(ReportsTest, StayWithTheReplicaThatTakesThem) {
  const auto reports = started({one->address(), other->address()});
  ASSERT_TRUE(eventually([&] { return reports->connected(); }));
  PlayedReplica& taker = one->called > 0 ? *one : *other;

  report.pressure = NodePressure::high;
  reports->news();

  EXPECT_TRUE(eventually([&] { return taker.heard.size() == 2; }));
  EXPECT_EQ(one->called + other->called, 1);
  reports->stop();
}

// Goal: what happens while the leader changes is known to the next one.
// Method: the leader resigns, a container is throttled before another leads.
TEST_F(ReportsTest, TheNextLeaderGetsTheWholeStateInItsFirstReport) {
  other->refuse(rpc::Code::unavailable);
  const auto reports = started({one->address(), other->address()});
  ASSERT_TRUE(eventually([&] { return reports->connected(); }));

  one->refuse(rpc::Code::unavailable);
  ASSERT_TRUE(eventually([&] { return other->called >= 2; }));
  ASSERT_FALSE(reports->connected());
  throttle("pod-1");
  reports->news();
  other->lead();

  ASSERT_TRUE(eventually([&] { return reports->connected(); }));
  ASSERT_FALSE(other->heard.empty());
  EXPECT_EQ(other->heard[0].throttled.size(), 1U);
  EXPECT_EQ(other->heard[0].sequence, 1U);
  reports->stop();
}

TEST_F(ReportsTest, TheFirstLeaderIsFoundAgainWhenItLeadsAgain) {
  other->refuse(rpc::Code::unavailable);
  const auto reports = started({one->named(), other->named()});
  ASSERT_TRUE(eventually([&] { return reports->connected(); }));

  one->refuse(rpc::Code::unavailable);
  ASSERT_TRUE(eventually([&] { return one->called > 1 && other->called > 1; }));
  one->lead();

  EXPECT_TRUE(eventually([&] { return reports->connected(); }));
  reports->stop();
}

// Goal: a replica with which something else is wrong does not keep reports from the one that leads.
// Method: it refuses for a reason of its own, which ends a round.
TEST_F(ReportsTest, AnyOtherRefusalIsFollowedByAnotherReplicaToo) {
  one->refuse(rpc::Code::permission_denied);
  const auto reports = started({one->address(), other->address()});

  EXPECT_TRUE(eventually([&] { return reports->connected(); }));
  EXPECT_EQ(other->heard.size(), 1U);
  reports->stop();
}

TEST_F(ReportsTest, AReplicaThatAnswersNothingIsLeftAfterTenSeconds) {
  one->silent = true;
  ManualTime time;
  ManualLoop manual{time};
  const auto reports = to(manual, {one->address(), other->address()});
  ASSERT_FALSE(reports->start().has_value());
  ASSERT_TRUE(eventually([&] { return one->heard.size() == 1; }));

  time.run_for(std::chrono::milliseconds{9'999});
  EXPECT_EQ(other->called, 0);
  time.run_for(std::chrono::milliseconds{1});

  EXPECT_TRUE(eventually([&] { return reports->connected(); }));
  EXPECT_EQ(other->heard.size(), 1U);
  reports->stop();
}

// Goal: a certificate that is being replaced while a replica is called costs no reports.
// Method: the file is away when the first call is made, and then back.
TEST_F(ReportsTest, AMissingCertificateIsReadAgain) {
  const auto reports = started({one->named()});
  std::filesystem::remove(folder.path() + "/tls.crt");
  const TimePoint end = clock.now() + std::chrono::milliseconds{300};
  boost::asio::steady_timer timer{io, std::chrono::milliseconds{300}};
  timer.async_wait([](auto) {});
  ASSERT_TRUE(eventually([&] { return clock.now() >= end; }));
  ASSERT_FALSE(reports->connected());

  folder.write("tls.crt", pair.certificate);

  EXPECT_TRUE(eventually([&] { return reports->connected(); }));
  reports->stop();
}

TEST_F(ReportsTest, AMissingCertificateIsSaidAtTheStart) {
  std::filesystem::remove(folder.path() + "/tls.crt");

  EXPECT_TRUE(to(loop, {one->named()})->start().has_value());
}

}  // namespace
}  // namespace sluice::node_agent
