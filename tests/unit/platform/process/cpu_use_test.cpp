#include "platform/process/cpu_use.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kFirst{1'700'000'000s};

TEST(CpuUse, IsKnownFromTheSecondReadingOn) {
  CpuUse use;
  EXPECT_EQ(use.millicores("app-1"), std::nullopt);
  use.note("app-1", 5s, kFirst);
  EXPECT_EQ(use.millicores("app-1"), std::nullopt);

  use.note("app-1", 6s, kFirst + 2s);

  EXPECT_EQ(use.millicores("app-1"), 500);
  EXPECT_EQ(use.millicores("app-2"), std::nullopt);
}

TEST(CpuUse, FadesToAThirdInTenSeconds) {
  CpuUse use;
  use.note("app-1", 0s, kFirst);
  use.note("app-1", 2s, kFirst + 2s);
  ASSERT_EQ(use.millicores("app-1"), 1000);
  for (int second = 4; second <= 12; second += 2) {
    use.note("app-1", 2s, kFirst + std::chrono::seconds{second});
  }

  EXPECT_EQ(use.millicores("app-1"), 368);
}

TEST(CpuUse, ReadingsThatFollowFastAddUpToOne) {
  CpuUse use;
  use.note("app-1", 0s, kFirst);
  for (int i = 1; i <= 7; ++i) use.note("app-1", i * 100ms, kFirst + i * 250ms);

  // Four quarters of a second with a tenth each; the three after them are in no reading yet.
  EXPECT_EQ(use.millicores("app-1"), 400);
}

TEST(CpuUse, AReadingLowerThanTheLastOneCountsNothing) {
  CpuUse use;
  use.note("app-1", 10s, kFirst);
  use.note("app-1", 11s, kFirst + 2s);
  use.note("app-1", 1s, kFirst + 4s);
  EXPECT_EQ(use.millicores("app-1"), 500);

  use.note("app-1", 2s, kFirst + 6s);

  EXPECT_EQ(use.millicores("app-1"), 500);
}

TEST(CpuUse, AClockThatStepsBackCountsNothing) {
  CpuUse use;
  use.note("app-1", 10s, kFirst);
  use.note("app-1", 11s, kFirst + 2s);
  use.note("app-1", 12s, kFirst - 1h);
  EXPECT_EQ(use.millicores("app-1"), 500);

  use.note("app-1", 13s, kFirst - 1h + 2s);

  EXPECT_EQ(use.millicores("app-1"), 500);
}

TEST(CpuUse, AnotherReplicaOfTheSameNameBeginsWithoutIt) {
  CpuUse use;
  use.note("app-1", 0s, kFirst);
  use.note("app-1", 2s, kFirst + 2s);
  use.forget("app-1");
  use.note("app-1", 3s, kFirst + 4s);

  EXPECT_EQ(use.millicores("app-1"), std::nullopt);
}

}  // namespace
}  // namespace sluice::local
