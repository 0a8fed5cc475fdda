// The gateway without a network: exchanges that only record what they get.

#include "activator/io/front_gateway.h"

#include "activator/io/pod_prober.h"
#include "common/loop/asio_loop.h"
#include "tests/unit/activator/idle_front.h"
#include "tests/unit/activator/noted_exchange.h"
#include "tests/unit/common/net/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using testing::IdleOwner;
using testing::kReady;
using testing::Noted;
using testing::OneRoute;

class FrontGatewayTest : public ::testing::Test {
 protected:
  FrontGatewayTest() { routes_.to = revision_; }

  void know(const std::string& name) {
    front_.know_pod(revision_,
                    {.id = {name}, .address = {.host = "127.0.0.1", .port = 9, .path = {}}});
  }

  void list(const std::string& name, bool avoid = false) {
    know(name);
    front_.list_pod(revision_, {name}, avoid);
  }

  std::unique_ptr<Noted> request() {
    auto exchange = std::make_unique<Noted>(front_, clock_.now());
    exchange->begin();
    return exchange;
  }

  [[nodiscard]] bool until(const std::function<bool()>& done) {
    for (int turn = 0; turn < 2000 && !done(); ++turn) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds{5});
    }
    return done();
  }

  static PlatformPod ready(const net::testing::ScriptedUpstream& sidecar) {
    return {.dest = sidecar.address().text(),
            .name = "pod",
            .address = sidecar.address(),
            .word = {.ready = true}};
  }

  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop time_{io_, clock_};
  PoolAsker asker_{io_};
  OneRoute routes_;
  IdleOwner nobody_;
  FrontGateway front_{io_, time_, routes_, nobody_, {}};
  RevisionHandle revision_ = front_.add(
      {.id = {"shop", "web"}, .throttler = {.container_concurrency = 1}, .timeouts = {}});
};

TEST_F(FrontGatewayTest, TheFirstRequestAfterAnOrderForNoReplicasIsReportedAtOnceWhileOthersWait) {
  std::vector<std::unique_ptr<Noted>> held;
  held.push_back(request());
  front_.set_grant(revision_, {});  // what is wanted is unknown
  held.push_back(request());
  EXPECT_EQ(nobody_.pokes, 1);
  front_.set_grant(revision_, {.grant = {}, .none_wanted = true});
  held.push_back(request());
  held.push_back(request());
  EXPECT_EQ(nobody_.pokes, 2);
  front_.refuse_waiting();
}

TEST_F(FrontGatewayTest, AFullPodIsTriedAgainWhenTheOtherOneMayNotBeUsed) {
  list("a");
  list("b", true);
  const auto one = request();
  ASSERT_EQ(one->where, "a");

  EXPECT_FALSE(one->says("queue-full"));
  EXPECT_EQ(one->where, "held");
  EXPECT_TRUE(until([&] { return one->where == "a"; }));
  EXPECT_TRUE(one->says("queue-full"));
}

TEST_F(FrontGatewayTest, AFullPodIsTriedAgainWhenTheOtherOneIsRemoved) {
  list("a");
  list("b");
  const auto one = request();
  const auto other = request();
  ASSERT_EQ(one->where + other->where, "ab");

  EXPECT_FALSE(one->says("queue-full"));
  front_.forget_pod(revision_, {"b"});
  EXPECT_TRUE(until([&] { return one->where == "a"; }));
  EXPECT_TRUE(one->answer(200, {}));
  EXPECT_TRUE(other->answer(200, {}));
}

TEST_F(FrontGatewayTest, APodThatIsTrustedWhileNoRequestWaitsMayBeTriedAgain) {
  list("a");
  list("b");
  const auto one = request();
  one->fail();
  ASSERT_EQ(one->where, "b");

  front_.trust_pod(revision_, {"a"});
  one->fail();

  EXPECT_EQ(one->where, "a");
  EXPECT_TRUE(one->answer(200, {}));
}

TEST_F(FrontGatewayTest, TrustInAPodSendsNoRequestToAnAvoidedPod) {
  list("a", true);
  list("b");
  const auto running = request();
  const auto waiting = request();
  ASSERT_EQ(running->where, "b");

  front_.trust_pod(revision_, {"b"});

  EXPECT_EQ(waiting->where, "held");
  running->answer(200, {});
  EXPECT_EQ(waiting->where, "b");
  waiting->answer(200, {});
}

TEST_F(FrontGatewayTest, AnotherSetOfAvoidedPodsSendsNoRequestToThoseThatStayAvoided) {
  std::array<std::unique_ptr<net::testing::ScriptedUpstream>, 3> sidecars;
  std::vector<std::string> dests;
  std::vector<PlatformPod> pods;
  for (auto& sidecar : sidecars) {
    sidecar = std::make_unique<net::testing::ScriptedUpstream>(io_);
    sidecar->play({{kReady}});
    dests.push_back(sidecar->address().text());
    pods.push_back(ready(*sidecar));
  }
  std::sort(dests.begin(), dests.end());
  PodProber prober{io_, time_, front_, asker_, {.probe_timeout = std::chrono::minutes{1}}, {}};
  prober.add(revision_, 1);
  prober.set_pods(revision_, pods);
  ASSERT_TRUE(until([&] { return prober.pods(revision_).listed == 3; }));
  prober.set_avoid(revision_, std::vector{dests[0], dests[2]});
  const auto running = request();
  const auto waiting = request();
  ASSERT_EQ(running->where, dests[1]);

  prober.set_avoid(revision_, std::vector{dests[0], dests[1]});

  EXPECT_EQ(waiting->where, dests[2]);
  running->answer(200, {});
  waiting->answer(200, {});
}

// Behind a mesh that lets no request reach pods directly.
class HiddenPodsTest : public FrontGatewayTest {
 protected:
  HiddenPodsTest() {
    for (auto& pod : pods_) {
      pod.play({{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"}});
    }
    service_.play({{kReady}});
    prober_.add(revision_, 1);
    prober_.set_service(revision_, service_.address());
  }

  void show(std::size_t pods) {
    std::vector<PlatformPod> all;
    for (std::size_t i = 0; i < pods; ++i) all.push_back(ready(pods_.at(i)));
    prober_.set_pods(revision_, all);
  }

  // Runs on the one pod that there is.
  std::unique_ptr<Noted> through_the_service() {
    auto one = request();
    show(1);
    EXPECT_TRUE(until([&] { return one->where == service_dest_; }));
    return one;
  }

  std::array<net::testing::ScriptedUpstream, 2> pods_{net::testing::ScriptedUpstream{io_},
                                                      net::testing::ScriptedUpstream{io_}};
  net::testing::ScriptedUpstream service_{io_};
  std::string service_dest_ = service_.address().text();
  PodProber prober_{io_, time_, front_, asker_, {.probe_timeout = std::chrono::minutes{1}}, {}};
};

TEST_F(HiddenPodsTest, RequestsAreSentToTheServiceUpToTheCapacityOfItsPods) {
  const auto one = through_the_service();
  const auto other = request();
  EXPECT_EQ(other->where, "held");

  show(2);

  EXPECT_EQ(other->where, service_dest_);
  EXPECT_EQ(prober_.pods(revision_).listed, 0U);
  one->answer(200, {});
  other->answer(200, {});
}

TEST_F(HiddenPodsTest, AChangedLimitAppliesToTheServiceToo) {
  const auto one = through_the_service();
  const auto other = request();

  prober_.set_limit(revision_, 2);

  EXPECT_EQ(other->where, service_dest_);
  one->answer(200, {});
  other->answer(200, {});
}

TEST_F(HiddenPodsTest, ARequestThatTheServiceRefusesIsSentToItAgain) {
  const auto one = through_the_service();

  one->fail();
  EXPECT_EQ(one->where, "held");
  prober_.suspect(revision_, {service_dest_});
  EXPECT_TRUE(until([&] { return one->where == service_dest_; }));

  EXPECT_FALSE(one->says("queue-full"));
  EXPECT_EQ(one->where, service_dest_);
  EXPECT_TRUE(one->says("queue-full"));
}

TEST_F(HiddenPodsTest, AReachablePodReplacesTheService) {
  const auto one = through_the_service();
  pods_[1].play({{kReady}});

  show(2);

  ASSERT_TRUE(until([&] { return prober_.pods(revision_).listed == 1; }));
  const auto next = request();
  EXPECT_EQ(next->where, pods_[1].address().text());
  EXPECT_EQ(front_.pods(revision_), 1U);
  one->answer(200, {});
  next->answer(200, {});
}

TEST_F(HiddenPodsTest, APodThatAnswersReplacesAServiceThatDoesNot) {
  const auto one = through_the_service();
  service_.play({{"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"}});
  pods_[0].play({{kReady}});

  one->fail();
  prober_.suspect(revision_, {service_dest_});

  EXPECT_TRUE(until([&] { return one->where == pods_[0].address().text(); }));
  one->answer(200, {});
}

TEST_F(HiddenPodsTest, ReplacingAllPodsKeepsARouteAtAllTimes) {
  const auto one = through_the_service();

  const PlatformPod other = ready(pods_[1]);
  prober_.set_pods(revision_, {&other, 1});

  EXPECT_EQ(front_.pods(revision_), 1U);
  one->answer(200, {});
}

TEST_F(HiddenPodsTest, ARemovedServiceGetsNoRequests) {
  const auto one = through_the_service();

  prober_.set_service(revision_, std::nullopt);

  const auto next = request();
  EXPECT_EQ(next->where, "held");
  EXPECT_EQ(front_.pods(revision_), 0U);
  one->answer(200, {});
  prober_.remove(revision_);
  front_.remove(revision_);
}

TEST_F(FrontGatewayTest, ARequestThatArrivesWhileItsRevisionIsRemovedIsRefusedToo) {
  const auto first = request();
  std::unique_ptr<Noted> second;
  first->on_respond = [&] { second = request(); };
  ASSERT_EQ(first->where, "held");

  front_.remove(revision_);

  ASSERT_NE(second, nullptr);
  EXPECT_EQ(first->where + second->where, "503503");
  EXPECT_EQ(front_.in_flight(), 0);
}

TEST_F(FrontGatewayTest, RequestsWaitingForAReplacedRevisionAreServedByTheNextOne) {
  const auto first = request();
  const auto second = request();
  ASSERT_EQ(first->where + second->where, "heldheld");
  const RevisionHandle next = front_.add(
      {.id = {"shop", "web-2"}, .throttler = {.container_concurrency = 1}, .timeouts = {}});
  front_.know_pod(next, {.id = {"b"}, .address = {.host = "127.0.0.1", .port = 9, .path = {}}});
  front_.list_pod(next, {"b"}, false);

  front_.hand_on(revision_, next);
  front_.remove(revision_);

  EXPECT_EQ(first->where, "b");
  EXPECT_EQ(second->where, "held");
  EXPECT_EQ(front_.waiting(next), 1);
  first->answer(200, {});
  EXPECT_EQ(second->where, "b");
  second->answer(200, {});
  EXPECT_EQ(front_.in_flight(), 0);
}

TEST_F(FrontGatewayTest, ARequestThatItsPodDoesNotTakeGoesToTheReplacementOfItsRevision) {
  list("a");
  const auto one = request();
  ASSERT_EQ(one->where, "a");
  RevisionHandle last = revision_;
  for (const char* name : {"web-2", "web-3"}) {
    const RevisionHandle next = front_.add({.id = {"shop", name}, .throttler = {}, .timeouts = {}});
    front_.hand_on(last, next);
    last = next;
  }
  front_.know_pod(last, {.id = {"c"}, .address = {.host = "127.0.0.1", .port = 9, .path = {}}});
  front_.list_pod(last, {"c"}, false);
  front_.remove(revision_);

  EXPECT_FALSE(one->says("draining"));

  EXPECT_EQ(one->where, "c");
  EXPECT_EQ(front_.in_flight(last), 1);
  EXPECT_TRUE(one->answer(200, {}));
  EXPECT_EQ(front_.in_flight(), 0);
}

TEST_F(FrontGatewayTest, ARevisionWhoseReplacementIsGoneKeepsItsRequests) {
  list("a");
  const auto one = request();
  const RevisionHandle next = front_.add({.id = {"shop", "x"}, .throttler = {}, .timeouts = {}});
  front_.hand_on(revision_, next);
  front_.remove(next);

  EXPECT_FALSE(one->says("draining"));

  EXPECT_EQ(one->where, "held");
  EXPECT_EQ(front_.waiting(revision_), 1);
  one->respond(http::response_for(Error::draining));
}

// Goal: what its last pod refuses does not wait in a revision that nothing can serve any more.
TEST(FrontOwnerTest, ARevisionMayBeRemovedWhenItsLastPodIsDrained) {
  class Removing final : public IdleOwner {
   public:
    void on_pod_drained(RevisionHandle revision, const PodId& /*pod*/) override {
      front->remove(revision);
    }

    FrontGateway* front = nullptr;
  };

  boost::asio::io_context io{1};
  const Clock clock;
  AsioLoop time{io, clock};
  OneRoute routes;
  Removing owner;
  FrontGateway front{io, time, routes, owner, {}};
  owner.front = &front;
  routes.to = front.add({.id = {"shop", "web"}, .throttler = {}, .timeouts = {}});
  const FrontPod pod{.id = {"a"}, .address = {.host = "127.0.0.1", .port = 9, .path = {}}};
  front.set_pods(routes.to, {&pod, 1});
  Noted one{front, clock.now()};
  one.begin();
  front.set_pods(routes.to, {});

  EXPECT_FALSE(one.says("draining"));

  EXPECT_EQ(one.where, "503");
  EXPECT_EQ(front.in_flight(), 0);
}

class BudgetTest : public ::testing::Test {
 protected:
  std::unique_ptr<Noted> request(RevisionHandle revision, std::size_t bytes) {
    routes_.to = revision;
    auto exchange = std::make_unique<Noted>(front_, clock_.now());
    exchange->bytes = bytes;
    exchange->begin();
    return exchange;
  }

  RevisionHandle add(const std::string& name) {
    return front_.add({.id = {"shop", name}, .throttler = {}, .timeouts = {}});
  }

  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop time_{io_, clock_};
  OneRoute routes_;
  IdleOwner nobody_;
  FrontGateway front_{
      io_, time_, routes_, nobody_, {.queues = {.waiting_max = 100, .bytes_max = 1'000'000}}};
  RevisionHandle flooded_ = add("flooded");
  RevisionHandle victim_ = add("victim");
};

TEST_F(BudgetTest, ARevisionThatHoldsAllItCanLeavesRoomForAnothersFirstRequest) {
  std::vector<std::unique_ptr<Noted>> held;
  do {
    held.push_back(request(flooded_, 5'000));
  } while (held.back()->where == "held");
  EXPECT_EQ(held.back()->where, "503");

  const auto first = request(victim_, 5'000);

  EXPECT_EQ(first->where, "held");
}

TEST_F(BudgetTest, AHeldRequestThatGrowsBeyondTheBudgetIsRefusedAndGivesItsMemoryBack) {
  const auto held = request(flooded_, 5'000);
  held->bytes = 500'000;
  front_.grew(*held);
  EXPECT_EQ(held->where, "held");
  EXPECT_EQ(front_.queued().bytes(), 500'000);

  held->bytes = 900'000;
  front_.grew(*held);

  EXPECT_EQ(held->where, "503");
  EXPECT_EQ(front_.queued().bytes(), 0);
  EXPECT_EQ(front_.queued().waiting(), 0);
}

TEST_F(BudgetTest, ALargeRequestIsChargedUntilItEnds) {
  front_.know_pod(flooded_, {.id = {"a"}, .address = {.host = "127.0.0.1", .port = 9, .path = {}}});
  front_.list_pod(flooded_, {"a"}, false);

  const auto large = request(flooded_, 400'000);
  const auto small = request(flooded_, 4'000);
  const auto refused = request(flooded_, 400'000);

  EXPECT_EQ(large->where, "a");
  EXPECT_EQ(small->where, "a");
  EXPECT_EQ(refused->where, "503");
  EXPECT_EQ(front_.queued().bytes(), 400'000);
  large->answer(200, {});
  small->answer(200, {});
  EXPECT_EQ(front_.queued().bytes(), 0);
}

TEST_F(FrontGatewayTest, AGrpcRefusalOfASidecarIsRetried) {
  list("a");
  list("b");
  const auto one = request();
  ASSERT_EQ(one->where, "a");

  EXPECT_FALSE(one->answer(200, {{"grpc-status", "14"}, {"Sluice-Error", "draining"}}));
  EXPECT_EQ(one->where, "b");
  EXPECT_TRUE(one->answer(200, {{"grpc-status", "14"}}));
}

TEST_F(FrontGatewayTest, ARefusalThatAnApplicationPassesOnIsItsAnswer) {
  list("a");
  list("b");
  const auto one = request();
  ASSERT_EQ(one->where, "a");

  EXPECT_TRUE(one->answer(
      503, {{"Sluice-Error", "draining"}, {std::string{http::kSluiceErrorFrom}, "application"}}));
}

TEST_F(FrontGatewayTest, AnOverflowingGrpcTimeoutIsIgnored) {
  Noted one{front_, clock_.now()};
  one.speak_grpc("2562047H");

  one.begin();
  EXPECT_EQ(one.where, "held");

  list("a");
  EXPECT_EQ(one.where, "a");
  one.answer(200, {});
}

}  // namespace
}  // namespace sluice::activator
