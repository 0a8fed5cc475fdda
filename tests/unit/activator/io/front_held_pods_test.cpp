#include "activator/io/front_gateway.h"
#include "common/loop/asio_loop.h"
#include "tests/unit/activator/idle_front.h"
#include "tests/unit/activator/noted_exchange.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using testing::IdleOwner;
using testing::Noted;
using testing::OneRoute;

TEST(FrontHeldPods, AHeldPodIsReportedOnceBeforeARequestIsSentToIt) {
  class Letting final : public IdleOwner {
   public:
    void on_held_pod(RevisionHandle /*revision*/, const PodId& pod) override {
      said.push_back(pod.name);
      front->hold_pod(pod, false);
    }

    FrontGateway* front = nullptr;
    std::vector<std::string> said;
  };

  boost::asio::io_context io{1};
  const Clock clock;
  AsioLoop time{io, clock};
  OneRoute routes;
  Letting owner;
  FrontGateway front{io, time, routes, owner, {}};
  owner.front = &front;
  routes.to = front.add({.id = {"shop", "web"}, .throttler = {}, .timeouts = {}});
  front.hold_pod({"a"}, true);  // also of a revision that learns of the pod later
  const FrontPod pod{.id = {"a"}, .address = {.host = "127.0.0.1", .port = 9, .path = {}}};
  front.set_pods(routes.to, {&pod, 1});

  for (int i = 0; i < 2; ++i) {
    Noted one{front, clock.now()};
    one.begin();
    EXPECT_EQ(one.where, "a");
    EXPECT_TRUE(one.answer(200, {}));
  }

  EXPECT_EQ(front.sent(routes.to, {"a"}), 2U);
  EXPECT_EQ(owner.said, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace sluice::activator
