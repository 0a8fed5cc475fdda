#include "activator/io/due_times.h"

#include "common/loop/manual_loop.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

using std::chrono::seconds;

class DueTimesTest : public ::testing::Test {
 protected:
  void set(std::size_t index, int second) { due_.set(index, start_ + seconds{second}); }

  std::string seen_in(int second) {
    time_.run_for(seconds{second});
    return std::exchange(seen_, {});
  }

  ManualTime time_;
  ManualLoop loop_{time_};
  TimePoint start_ = loop_.now();
  std::string seen_;
  int again_ = 0;  // how often what was looked at is due at once again
  DueTimes due_{loop_, [this](std::size_t index, TimePoint now) {
                  seen_ += std::to_string(index) + "@" +
                           std::to_string((now - start_) / seconds{1}) + " ";
                  if (again_-- > 0) due_.set(index, now);
                }};
};

TEST_F(DueTimesTest, LooksAtEachInTheOrderOfTheTimes) {
  set(7, 3);
  set(0, 1);
  set(2, 2);

  EXPECT_EQ(seen_in(2), "0@1 2@2 ");
  EXPECT_EQ(seen_in(9), "7@3 ");
}

TEST_F(DueTimesTest, ALaterWordCounts) {
  set(1, 2);
  set(2, 2);
  set(3, 5);
  set(1, 4);
  set(3, 1);
  due_.set(2, std::nullopt);

  EXPECT_EQ(seen_in(9), "3@1 1@4 ");
}

TEST_F(DueTimesTest, WhatHasPassedIsDueAtOnceAndOnce) {
  EXPECT_EQ(seen_in(5), "");
  set(1, 2);

  EXPECT_EQ(seen_in(1), "1@5 ");
  EXPECT_EQ(seen_in(9), "");
}

TEST_F(DueTimesTest, WhatIsDueAgainAtOnceGetsATurnOfItsOwn) {
  again_ = 2;
  set(1, 1);
  time_.step(start_ + seconds{9});
  EXPECT_EQ(std::exchange(seen_, {}), "1@1 ");

  EXPECT_EQ(seen_in(9), "1@1 1@1 ");
}

}  // namespace
}  // namespace sluice::activator
