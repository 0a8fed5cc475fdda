#include "common/api/event_ring.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::api {
namespace {

TEST(EventRing, ResumesAfterAnIdAndCountsWhatIsGone) {
  EventRing ring(3);
  for (int i = 1; i <= 5; ++i) {
    ring.publish({{"type", i % 2 == 0 ? "decision" : "log"}, {"service", "app"}});
  }
  const auto backlog = ring.after(1, {.types = {"log"}});
  EXPECT_EQ(backlog.missed, 1U);
  ASSERT_EQ(backlog.events.size(), 2U);
  EXPECT_EQ(backlog.events[0]->id, 3U);
}

TEST(EventRing, ABodyIsMadeForTheFirstReaderAndForNobodyElse) {
  EventRing ring;
  int made = 0;
  for (const char* service : {"one", "two"}) {
    ring.publish({.type = "decision", .service = service}, [&made, service] {
      ++made;
      return nlohmann::json{{"service", service}};
    });
  }
  std::string seen;
  const auto mine =
      ring.subscribe({.service = "two"}, [&](const auto& each) { seen = each->data(); });
  EXPECT_EQ(made, 0);

  const auto backlog = ring.after(0, {.service = "two"});
  ASSERT_EQ(backlog.events.size(), 1U);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(backlog.events[0]->data(), R"({"service":"two"})");
  EXPECT_EQ(backlog.events[0]->data(), R"({"service":"two"})");
  EXPECT_EQ(made, 1);

  ring.publish({.type = "decision", .service = "two"}, [] { return nlohmann::json{{"n", 3}}; });
  EXPECT_EQ(seen, R"({"n":3})");
}

TEST(EventRing, BodiesCountWhetherTheyAreReadOrNot) {
  EventRing ring(100, 3 * EventRing::kBodyBytes);
  for (int i = 0; i < 5; ++i) {
    ring.publish({.type = "decision"}, [] { return nlohmann::json::object(); });
    (void)ring.after(ring.last_id() - 1, {}).events.at(0)->data();
  }
  EXPECT_EQ(ring.after(0, {}).missed, 2U);
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
