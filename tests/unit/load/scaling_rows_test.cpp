#include "load/core/scaling_rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

double value(const ScalingRow& row, Scaling what) {
  return row.values.at(static_cast<std::size_t>(what));
}

TEST(ScalingRows, KeepsARowForEachChange) {
  ScalingRows rows;
  rows.set(-5s, Scaling::ready, 1);
  rows.begin();
  rows.set(1s, Scaling::ready, 1);
  rows.set(2s, Scaling::queued, 7);
  rows.set(2001ms, Scaling::ready, 2);
  rows.set(3s, Scaling::queued, 0);

  ASSERT_EQ(rows.rows().size(), 3U) << "the same again is no row, nor is what comes together";
  EXPECT_EQ(rows.rows()[0].at, 0s);
  EXPECT_EQ(value(rows.rows()[0], Scaling::ready), 1);
  EXPECT_TRUE(std::isnan(value(rows.rows()[0], Scaling::queued)));
  EXPECT_EQ(rows.rows()[1].at, 2s);
  EXPECT_EQ(value(rows.rows()[1], Scaling::ready), 2);
  EXPECT_EQ(value(rows.rows()[1], Scaling::queued), 7);
  EXPECT_EQ(rows.queued_max(), 7);
}

TEST(ScalingRows, HaveNoQueueWhereNoneIsReported) {
  ScalingRows rows;
  rows.set(0s, Scaling::ready, 1);

  EXPECT_TRUE(std::isnan(rows.queued_max()));
}

// Goal: a run of any length keeps a limited number of rows, and its highest queue.
TEST(ScalingRows, LeaveRowsOutWhereThereAreTooMany) {
  ScalingRows rows;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    rows.set(i * 1s, Scaling::queued, i == 77'777 ? 5000 : i % 10);
  }

  EXPECT_LE(rows.rows().size(), ScalingRows::kMost);
  EXPECT_GE(rows.rows().size(), ScalingRows::kMost / 4);
  EXPECT_EQ(rows.queued_max(), 5000);
  for (std::size_t i = 1; i < rows.rows().size(); ++i) {
    ASSERT_LT(rows.rows()[i - 1].at, rows.rows()[i].at);
  }
  EXPECT_GE(rows.rows().back().at, (kCount - 100) * 1s);
}

TEST(ScalingRows, AddUpSeveralServices) {
  ScalingRows one;
  ScalingRows other;
  one.set(0s, Scaling::ready, 1);
  one.set(0s, Scaling::target, 10);
  other.set(1s, Scaling::ready, 2);
  one.set(2s, Scaling::ready, 3);
  const std::array<const ScalingRows*, 2> parts{&one, &other};

  const ScalingRows both = ScalingRows::merged(parts);

  ASSERT_EQ(both.rows().size(), 3U);
  EXPECT_EQ(value(both.rows()[0], Scaling::ready), 1);
  EXPECT_EQ(value(both.rows()[1], Scaling::ready), 3);
  EXPECT_EQ(value(both.rows()[2], Scaling::ready), 5);
  EXPECT_TRUE(std::isnan(value(both.rows()[2], Scaling::target)));
}

}  // namespace
}  // namespace sluice::loadgen
