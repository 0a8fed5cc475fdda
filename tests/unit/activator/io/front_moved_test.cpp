#include "activator/io/front_gateway.h"
#include "common/loop/asio_loop.h"
#include "tests/unit/activator/idle_front.h"
#include "tests/unit/activator/noted_exchange.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using testing::IdleOwner;
using testing::Noted;
using testing::OneRoute;

TEST(FrontMoved, BytesAreCountedForThePodThatTheirRequestIsOn) {
  boost::asio::io_context io{1};
  const Clock clock;
  AsioLoop time{io, clock};
  OneRoute routes;
  IdleOwner owner;
  FrontGateway front{io, time, routes, owner, {}};
  routes.to = front.add({.id = {"shop", "web"}, .throttler = {}, .timeouts = {}});
  const auto pod = [](const std::string& name) {
    return FrontPod{.id = {name}, .address = {.host = "127.0.0.1", .port = 9, .path = {}}};
  };
  const auto moved = [&](const std::string& name) { return front.moved(routes.to, {name}); };
  const std::array one{pod("a")};
  const std::array both{pod("a"), pod("b")};
  front.set_pods(routes.to, one);
  std::vector<std::unique_ptr<Noted>> requests;
  for (const std::uint64_t bytes : {1U, 2U, 4U}) {
    requests.push_back(std::make_unique<Noted>(front, clock.now()));
    requests.back()->begin();
    requests.back()->moved_bytes = bytes;
  }
  EXPECT_EQ(moved("a"), 7U);

  requests[1]->answer(200, {});
  EXPECT_EQ(moved("a"), 5U);
  front.set_pods(routes.to, both);
  requests[2]->fail();
  ASSERT_EQ(requests[2]->where, "b");
  EXPECT_EQ(moved("a"), 1U);
  EXPECT_EQ(moved("b"), 4U);
  front.forget_pod(routes.to, {"a"});  // its request runs on
  EXPECT_EQ(moved("a"), 1U);
  requests[0]->answer(200, {});
  requests[2]->answer(200, {});
  EXPECT_EQ(moved("a") + moved("b"), 0U);
}

}  // namespace
}  // namespace sluice::activator
