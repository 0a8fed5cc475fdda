#include "activator/io/pod_prober.h"

#include "common/loop/asio_loop.h"
#include "tests/unit/activator/idle_front.h"
#include "tests/unit/common/net/stage.h"

#include <gtest/gtest.h>

namespace sluice::activator {
namespace {

using net::testing::ScriptedUpstream;
using testing::IdleOwner;
using testing::kReady;
using testing::NoRoutes;

// No request is sent here.
class NoTls final : public net::TlsSessions {
 public:
  [[nodiscard]] std::unique_ptr<net::TlsSession> make_session(int /*descriptor*/) override {
    return nullptr;
  }
};

// A pod whose requests are encrypted is probed in clear text, on connections of the prober's own.
class PodProberTest : public ::testing::Test {
 protected:
  PodProberTest() {
    prober_.set_door([this](RevisionHandle /*revision*/, net::Address& /*address*/) {
      return net::UpstreamTls{.h1 = &tls_};
    });
    prober_.add(revision_, 0);
  }

  void pod_comes(bool proven = false) {
    const PlatformPod pod{.dest = sidecar_.address().text(),
                          .name = "pod",
                          .address = sidecar_.address(),
                          .word = {.ready = true, .proven = proven}};
    prober_.set_pods(revision_, {&pod, 1});
  }

  void pod_goes() { prober_.set_pods(revision_, {}); }

  [[nodiscard]] bool until(const std::function<bool()>& done) {
    for (int turn = 0; turn < 2000 && !done(); ++turn)
      io_.run_one_for(std::chrono::milliseconds{5});
    return done();
  }

  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop time_{io_, clock_};
  PoolAsker asker_{io_};
  NoRoutes routes_;
  IdleOwner nobody_;
  NoTls tls_;
  ScriptedUpstream sidecar_{io_};
  FrontGateway front_{io_, time_, routes_, nobody_, {}};
  PodProber prober_{io_, time_, front_, asker_, {.probe_timeout = std::chrono::minutes{1}}, {}};
  RevisionHandle revision_ = front_.add({.id = {"shop", "web"}, .throttler = {}, .timeouts = {}});
};

// The address sanitizer checks that nothing reads freed memory.
TEST_F(PodProberTest, TheIdleConnectionOfARemovedPodIsClosedBeforeItsPoolIsDestroyed) {
  sidecar_.play({{kReady}});
  pod_comes();
  ASSERT_TRUE(until([&] { return prober_.pods(revision_).usable == 1; }));
  ASSERT_EQ(sidecar_.connections(), 1U);

  pod_goes();
  EXPECT_EQ(prober_.leaving(), 1U);

  EXPECT_TRUE(until([&] { return sidecar_.ended() == 1; }));
  prober_.sweep();
  EXPECT_EQ(prober_.leaving(), 0U);
}

TEST_F(PodProberTest, AProvenPodIsUsableInTheSameCall) {
  pod_comes(true);

  EXPECT_EQ(prober_.pods(revision_).listed, 1U);
  EXPECT_EQ(front_.pods(revision_), 1U);
  while (io_.poll_one() > 0) {
  }
  EXPECT_EQ(sidecar_.connections(), 0U);
}

TEST_F(PodProberTest, AProvenPodIsProbedAndRemovedWhenARequestFailsOnIt) {
  sidecar_.play({{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"}});
  pod_comes(true);

  prober_.suspect(revision_, {sidecar_.address().text()});

  EXPECT_EQ(prober_.pods(revision_).usable, 1U);
  EXPECT_TRUE(until([&] { return prober_.pods(revision_).usable == 0; }));
  EXPECT_GE(sidecar_.requests(), 1U);
  sidecar_.play({{kReady}});
  EXPECT_TRUE(until([&] { return prober_.pods(revision_).usable == 1; }));
}

TEST_F(PodProberTest, AProbeUnderWayEndsWithItsPod) {
  sidecar_.play({{""}});
  pod_comes();
  ASSERT_TRUE(until([&] { return sidecar_.requests() == 1; }));

  pod_goes();
  EXPECT_EQ(prober_.leaving(), 1U);

  EXPECT_TRUE(until([&] { return sidecar_.ended() == 1; }));
  prober_.sweep();
  EXPECT_EQ(prober_.leaving(), 0U);
  EXPECT_EQ(prober_.counts().passed + prober_.counts().silent + prober_.counts().not_ready, 0U);
}

TEST_F(PodProberTest, ADialUnderWayEndsWithItsPod) {
  pod_comes();

  pod_goes();
  EXPECT_EQ(prober_.leaving(), 1U);

  EXPECT_TRUE(until([&] {
    prober_.sweep();
    return prober_.leaving() == 0;
  }));
}

}  // namespace
}  // namespace sluice::activator
