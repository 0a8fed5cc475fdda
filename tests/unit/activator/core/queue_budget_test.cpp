#include "activator/core/queue_budget.h"

#include <gtest/gtest.h>

namespace sluice::activator {
namespace {

TEST(QueueBudget, BoundsTheNumberOfWaiters) {
  QueueBudget budget({.waiting_max = 2, .bytes_max = 1000});

  EXPECT_TRUE(budget.take(0));
  EXPECT_TRUE(budget.take(0));
  EXPECT_FALSE(budget.take(0));
  budget.give_back(0);
  EXPECT_TRUE(budget.take(0));
}

TEST(QueueBudget, BoundsTheMemoryOfWaitersAndARefusalTakesNothing) {
  QueueBudget budget({.waiting_max = 10, .bytes_max = 1000});

  EXPECT_TRUE(budget.take(600));
  EXPECT_FALSE(budget.take(401));
  EXPECT_EQ(budget.waiting(), 1);
  EXPECT_TRUE(budget.take(400));
  EXPECT_EQ(budget.bytes(), 1000);
}

TEST(QueueBudgetDeathTest, GivingBackMoreThanTakenIsABrokenInvariant) {
  QueueBudget budget({});

  EXPECT_DEATH(budget.give_back(0), "CHECK failed");
}

}  // namespace
}  // namespace sluice::activator
