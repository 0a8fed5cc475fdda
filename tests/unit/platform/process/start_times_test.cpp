#include "platform/process/start_times.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

TEST(StartTimes, UsualIsTheMiddleOfTheLastFive) {
  StartTimes times;
  EXPECT_EQ(times.usual(), std::nullopt);
  times.note(1s);
  EXPECT_EQ(times.usual(), 1s);
  times.note(3s);
  EXPECT_EQ(times.usual(), 3s);
  for (const Duration took : {40s, 2s, 4s}) times.note(took);
  EXPECT_EQ(times.usual(), 3s);  // of 1 2 3 4 40

  for (const Duration took : {50s, 60s}) times.note(took);

  EXPECT_EQ(times.usual(), 40s);  // of 2 4 40 50 60
}

}  // namespace
}  // namespace sluice::local
