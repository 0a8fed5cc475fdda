#include "platform/kubernetes/core/event_log.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1'000'000}};

ScalerEvent event(const std::string& scaler, const std::string& reason) {
  ScalerEvent made;
  made.scaler = {"shop", scaler};
  made.reason = reason;
  made.message = "m";
  return made;
}

TEST(EventLog, OneEventASecondIsSent) {
  EventLog log;
  log.add(event("a", "ScaledUp"), kStart);
  log.add(event("b", "ScaledUp"), kStart);

  EXPECT_TRUE(log.take(kStart).has_value());
  EXPECT_FALSE(log.take(kStart).has_value());
  EXPECT_EQ(log.next_due(), kStart + seconds{1});
  EXPECT_TRUE(log.take(kStart + seconds{1}).has_value());
  EXPECT_EQ(log.next_due(), std::nullopt);
}

TEST(EventLog, RepeatedEventsOfAScalerAreOneWithACountAndTheLastMessage) {
  EventLog log;
  log.add(event("a", "ScaledUp"), kStart);
  ScalerEvent again = event("a", "ScaledUp");
  again.message = "latest";
  log.add(again, kStart + seconds{3});

  const auto told = log.take(kStart + seconds{3});

  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->count, 2U);
  EXPECT_EQ(told->message, "latest");
  EXPECT_EQ(told->first, kStart);
  EXPECT_EQ(told->last, kStart + seconds{3});
}

TEST(EventLog, TheOldestIsDroppedWhenThereAreTooMany) {
  EventLog log;
  for (std::size_t i = 0; i <= EventLog::kWaitingMax; ++i) {
    log.add(event(std::to_string(i), "ScaledUp"), kStart);
  }
  EXPECT_EQ(log.forgotten(), 1U);
  EXPECT_EQ(log.take(kStart)->scaler.name, "1");
}

}  // namespace
}  // namespace sluice::autoscaler
