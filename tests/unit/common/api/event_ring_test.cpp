#include "common/api/event_ring.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::api {
namespace {

TEST(EventRing, ResumesAfterAnIdAndCountsMissedEvents) {
  EventRing ring(3);
  for (int i = 1; i <= 5; ++i) {
    ring.publish({{"type", i % 2 == 0 ? "decision" : "log"}, {"service", "app"}});
  }
  const auto backlog = ring.after(1, {.types = {"log"}});
  EXPECT_EQ(backlog.missed, 1U);
  ASSERT_EQ(backlog.events.size(), 2U);
  EXPECT_EQ(backlog.events[0]->id, 3U);
}

TEST(EventRing, AListenerMayEndItselfWhileCalled) {
  EventRing ring;
  int calls = 0;
  EventRing::Subscription mine;
  mine = ring.subscribe({}, [&](const auto&) {
    ++calls;
    mine = {};
  });
  ring.publish({{"type", "log"}});
  ring.publish({{"type", "log"}});
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace sluice::api
