// Probes over a pool: what they find out, and what they leave behind for the first real request.

#include "activator/io/pool_probe.h"

#include "tests/unit/common/net/stage.h"

#include <optional>

namespace sluice::activator {
namespace {

using net::Address;
using net::IdleBudget;
using net::Listener;
using net::Socket;
using net::UpstreamLimits;
using net::UpstreamPool;
using net::testing::Client;
using net::testing::ScriptedUpstream;
using net::testing::Stage;
using After = ScriptedUpstream::After;
using End = PoolProbeResult::End;

constexpr const char* kProbe =
    "GET /healthz HTTP/1.1\r\nHost: pod\r\nK-Network-Probe: queue\r\n\r\n";
constexpr const char* kReady = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nqueue";

PoolProbeRequest probe_request() {
  PoolProbeRequest request;
  request.head = kProbe;
  request.connect_timeout = request.response_timeout = std::chrono::minutes{1};
  return request;
}

class PoolProbeTest : public Stage {
 protected:
  void probe(UpstreamPool& pool, PoolProbeRequest request = probe_request()) {
    result_.reset();
    probe_ = std::make_unique<PoolProbe>(io_, pool, std::move(request),
                                         [this](const PoolProbeResult& result) {
                                           result_ = result;
                                           probe_.reset();  // as a caller may
                                         });
  }

  PoolProbeResult outcome() {
    until([this] { return result_.has_value(); });
    return result_.value_or(PoolProbeResult{});
  }

  std::unique_ptr<PoolProbe> probe_;
  std::optional<PoolProbeResult> result_;
};

TEST_F(PoolProbeTest, ReportsStatusAndBodyOfAReadyPod) {
  upstream_.play({{kReady}});
  probe(pool_);
  const PoolProbeResult result = outcome();

  EXPECT_EQ(result.end, End::answered);
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(result.body, "queue");
  EXPECT_EQ(result.sluice_error, "");
  EXPECT_EQ(upstream_.received(), kProbe);
}

TEST_F(PoolProbeTest, DistinguishesARefusalOfOurSidecarFromOneOfAMesh) {
  upstream_.play(
      {{"HTTP/1.1 503 Service Unavailable\r\nSluice-Error: not-ready\r\n"
        "Content-Length: 9\r\n\r\nnot ready"}});
  probe(pool_);

  EXPECT_EQ(outcome().sluice_error, "not-ready");
  EXPECT_EQ(result_->status, 503);
}

TEST_F(PoolProbeTest, LeavesItsConnectionToTheFirstRequest) {
  upstream_.play({{kReady}, {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"}});
  probe(pool_);
  ASSERT_EQ(outcome().status, 200);
  ASSERT_EQ(pool_.idle(), 1U);
  Client client{address_};
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  until_seen(client, "hi");

  EXPECT_EQ(upstream_.connections(), 1U);
}

TEST_F(PoolProbeTest, UsesTheConnectionOfTheProbeBeforeIt) {
  upstream_.play({{kReady}});
  for (int i = 0; i < 3; ++i) {
    probe(pool_);
    EXPECT_EQ(outcome().status, 200);
  }

  EXPECT_EQ(upstream_.connections(), 1U);
  EXPECT_EQ(upstream_.requests(), 3U);
}

TEST_F(PoolProbeTest, DialsAgainWhenAnIdleConnectionEndsUnanswered) {
  upstream_.play({{kReady}, {"", After::close}, {kReady}});
  probe(pool_);
  ASSERT_EQ(outcome().status, 200);
  probe(pool_);

  EXPECT_EQ(outcome().status, 200);
  EXPECT_EQ(upstream_.connections(), 2U);
}

TEST_F(PoolProbeTest, ReportsRefusedWhenNoProgramListens) {
  Address vacant;
  {
    Listener gone{io_, [](Socket) {}};
    Address any;
    any.host = "127.0.0.1";
    vacant = *gone.open(any);
    gone.close();
  }
  settle();
  UpstreamPool dead{io_, vacant, UpstreamLimits{}};
  probe(dead);

  EXPECT_EQ(outcome().end, End::refused);
  EXPECT_NE(result_->text.find("connection refused"), std::string::npos);
  until([&] { return dead.at_rest(); });
}

TEST_F(PoolProbeTest, ReportsResetWhenThePodClosesTheConnection) {
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Le", After::close}});
  probe(pool_);

  EXPECT_EQ(outcome().end, End::reset);
}

TEST_F(PoolProbeTest, ReportsInvalidForAMalformedOrTooLongResponse) {
  upstream_.play({{"SSH-2.0-OpenSSH\r\n\r\n"}});
  probe(pool_);
  EXPECT_EQ(outcome().end, End::invalid);

  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x')}});
  probe(pool_);
  EXPECT_EQ(outcome().end, End::invalid);
  EXPECT_EQ(pool_.idle(), 0U);
}

TEST_F(PoolProbeTest, ReportsTimedOutWhenThePodIsSilent) {
  upstream_.play({{""}});
  PoolProbeRequest request = probe_request();
  request.response_timeout = std::chrono::milliseconds{5};
  probe(pool_, request);

  EXPECT_EQ(outcome().end, End::timed_out);
  EXPECT_EQ(pool_.idle(), 0U);
}

// A silent pod that is known to be far away is waited for, however short the limit is.
TEST_F(PoolProbeTest, WaitsLongerForADistantPod) {
  upstream_.play({{""}});
  UpstreamLimits limits;
  limits.round_trip = std::chrono::minutes{10};
  UpstreamPool distant{io_, upstream_.address(), limits};
  PoolProbeRequest request = probe_request();
  request.response_timeout = std::chrono::milliseconds{1};
  probe(distant, request);
  until([this] { return upstream_.requests() == 1; });
  for (int turn = 0; turn < 5; ++turn) io_.run_one_for(std::chrono::milliseconds{10});
  ASSERT_FALSE(result_.has_value());
  upstream_.say(kReady);

  EXPECT_EQ(outcome().status, 200);
  until([&] {
    distant.close();
    return distant.at_rest();
  });
}

TEST_F(PoolProbeTest, LeavesNothingBehindWhenItIsDestroyed) {
  upstream_.play({{""}});
  probe(pool_);
  probe_.reset();  // while it dials
  until([this] { return pool_.at_rest(); });
  probe(pool_);
  until([this] { return upstream_.requests() == 1; });
  probe_.reset();  // while it waits
  until([this] { return pool_.at_rest(); });

  EXPECT_FALSE(result_.has_value());
}

TEST_F(PoolProbeTest, MeasuresTheDistanceWhenItDials) {
  upstream_.play({{kReady}});
  ASSERT_EQ(pool_.round_trip(), Duration{0});
  probe(pool_);
  ASSERT_EQ(outcome().status, 200);

  EXPECT_GT(pool_.round_trip(), Duration{0});
  EXPECT_EQ(pool_.within(Duration{100}, 2), Duration{100} + pool_.round_trip() * 2);
}

TEST_F(PoolProbeTest, PoolsKeepNoMoreIdleConnectionsThanTheyShare) {
  upstream_.play({{kReady}});
  IdleBudget shared{.most = 1};
  UpstreamLimits limits;
  limits.shared = &shared;
  UpstreamPool first{io_, upstream_.address(), limits};
  UpstreamPool second{io_, upstream_.address(), limits};
  probe(first);
  ASSERT_EQ(outcome().status, 200);
  probe(second);
  ASSERT_EQ(outcome().status, 200);

  EXPECT_EQ(first.idle(), 1U);
  EXPECT_EQ(second.idle(), 0U);
  first.close();
  EXPECT_EQ(shared.kept, 0U);
  until([&] { return first.at_rest() && second.at_rest(); });
}

}  // namespace
}  // namespace sluice::activator
