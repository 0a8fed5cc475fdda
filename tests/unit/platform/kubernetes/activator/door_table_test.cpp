#include "platform/kubernetes/activator/core/door_table.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

const RevisionId kCart{"shop", "cart"};
const RevisionId kPay{"shop", "pay"};

// Carries a plan out and shows it: `-20000 cart +20000 pay`. Ports in `taken` fail.
std::string carry_out(DoorTable& table, const std::set<std::uint16_t>& taken = {}) {
  const DoorTable::Plan plan = table.plan();
  std::string text;
  for (const DoorTable::Step& step : plan.close) {
    text +=
        (text.empty() ? "" : " ") + ("-" + std::to_string(step.port)) + " " + step.revision.name;
  }
  for (const DoorTable::Step& step : plan.open) {
    const bool fails = taken.contains(step.port);
    text += (text.empty() ? "" : " ") + ((fails ? "!" : "+") + std::to_string(step.port)) + " " +
            step.revision.name;
    fails ? table.failed(step.port) : table.opened(step.port);
  }
  return text;
}

TEST(DoorTable, OpensADoorForEachScalerThatHasAPort) {
  DoorTable table;

  table.want(kCart, 20'000);
  table.want(kPay, 20'001);

  EXPECT_EQ(carry_out(table), "+20000 cart +20001 pay");
  EXPECT_EQ(carry_out(table), "");
  EXPECT_EQ(table.open(), 2U);
  EXPECT_EQ(table.missing(), 0U);
}

TEST(DoorTable, ClosesTheDoorOfADeletedScaler) {
  DoorTable table;
  table.want(kCart, 20'000);
  (void)carry_out(table);

  table.want(kCart, std::nullopt);

  EXPECT_EQ(carry_out(table), "-20000 cart");
  EXPECT_EQ(table.open(), 0U);
}

TEST(DoorTable, MovesAScalerToItsNewPort) {
  DoorTable table;
  table.want(kCart, 20'000);
  (void)carry_out(table);

  table.want(kCart, 20'007);

  EXPECT_EQ(carry_out(table), "-20000 cart +20007 cart");
}

TEST(DoorTable, HandsAPortOverOnlyAfterItWasClosed) {
  DoorTable table;
  table.want(kCart, 20'000);
  (void)carry_out(table);

  table.want(kPay, 20'000);
  table.want(kCart, 20'001);

  EXPECT_EQ(carry_out(table), "-20000 cart +20000 pay +20001 cart");
}

TEST(DoorTable, APortClaimedByTwoStaysWithItsHolder) {
  DoorTable table;
  table.want(kPay, 20'000);
  (void)carry_out(table);

  table.want(kCart, 20'000);

  EXPECT_EQ(carry_out(table), "");
  EXPECT_EQ(table.missing(), 1U);
  table.want(kPay, std::nullopt);
  EXPECT_EQ(carry_out(table), "-20000 pay +20000 cart");
}

TEST(DoorTable, APortClaimedByTwoAtOnceGoesToTheFirstByName) {
  DoorTable table;

  table.want(kPay, 20'000);
  table.want(kCart, 20'000);

  EXPECT_EQ(carry_out(table), "+20000 cart");
}

TEST(DoorTable, TriesAPortAgainThatAnotherProgramHas) {
  DoorTable table;
  table.want(kCart, 20'000);

  EXPECT_EQ(carry_out(table, {20'000}), "!20000 cart");
  EXPECT_EQ(table.missing(), 1U);

  EXPECT_EQ(carry_out(table), "+20000 cart");
  EXPECT_EQ(table.missing(), 0U);
}

TEST(DoorTable, GivesUpAFailedPortOnceNoScalerUsesIt) {
  DoorTable table;
  table.want(kCart, 20'000);
  (void)carry_out(table, {20'000});

  table.want(kCart, std::nullopt);

  EXPECT_EQ(carry_out(table), "");
}

TEST(DoorTable, DoesNothingForAScalerCreatedAndDeletedBetweenTwoLooks) {
  DoorTable table;

  table.want(kCart, 20'000);
  table.want(kCart, std::nullopt);

  EXPECT_EQ(carry_out(table), "");
}

}  // namespace
}  // namespace sluice::activator
