#include "activator/core/queue_budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::activator {
namespace {

TEST(QueueBudget, BoundsTheNumberOfWaiters) {
  QueueBudget budget({.waiting_max = 2, .bytes_max = 1000});
  QueueShare share;

  EXPECT_TRUE(budget.wait(share));
  EXPECT_TRUE(budget.wait(share));
  EXPECT_FALSE(budget.wait(share));
  budget.leave(share);
  EXPECT_TRUE(budget.wait(share));
}

TEST(QueueBudget, BoundsTheirMemoryAndARefusalTakesNothing) {
  QueueBudget budget({.waiting_max = 10, .bytes_max = 1000});
  QueueShare share;

  EXPECT_TRUE(budget.take(share, 600));
  EXPECT_FALSE(budget.take(share, 401));
  EXPECT_EQ(budget.bytes(), 600);
  EXPECT_TRUE(budget.take(share, 150));
  EXPECT_EQ(share.bytes(), 750);
}

TEST(QueueBudget, OneThatTakesAllItCanLeavesAQuarterToTheOthers) {
  QueueBudget budget({.waiting_max = 1000, .bytes_max = 1000});
  QueueShare flooded;
  while (budget.take(flooded, 1)) {
  }
  while (budget.wait(flooded)) {
  }
  QueueShare victim;

  EXPECT_EQ(flooded.bytes(), 750);
  EXPECT_EQ(flooded.waiting(), 750);
  EXPECT_TRUE(budget.take(victim, 250));
  EXPECT_TRUE(budget.wait(victim));
}

// However many revisions fill their share, the first request of another finds room.
TEST(QueueBudget, ManyThatTakeAllTheyCanLeaveEachOtherLess) {
  constexpr std::int64_t kMost = 1'000'000;
  for (const std::size_t count : {2U, 10U, 100U, 1000U}) {
    QueueBudget budget({.waiting_max = 1, .bytes_max = kMost});
    std::vector<QueueShare> flooded(count);
    for (bool taken = true; taken;) {
      taken = false;
      for (QueueShare& share : flooded) taken = budget.take(share, 10) || taken;
    }
    const auto left = kMost - budget.bytes();

    EXPECT_GE(left, kMost / 4 / static_cast<std::int64_t>(count + 1)) << count;
    QueueShare victim;
    EXPECT_TRUE(budget.take(victim, left));
  }
}

TEST(QueueBudget, WaitersLeaveAnEighthOfTheConnections) {
  EXPECT_EQ(within_connections({}, 1000).waiting_max, 875);
  EXPECT_EQ(within_connections({}, 1).waiting_max, 1);
  EXPECT_EQ(within_connections({.waiting_max = 5}, 1000).waiting_max, 5);
}

TEST(QueueBudgetDeathTest, GivingBackMoreThanTakenIsABrokenInvariant) {
  QueueBudget budget({});
  QueueShare share;

  EXPECT_DEATH(budget.give_back(share, 1), "CHECK failed");
  EXPECT_DEATH(budget.leave(share), "CHECK failed");
}

}  // namespace
}  // namespace sluice::activator
