#include "common/net/server/open_heads.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::net {
namespace {

class Reader final : public Connection {
 public:
  void start() override {}

  bool close_if_idle() override { return false; }

  void drain() override {}

  void abandon() override {}

  bool give_way() override {
    gave_way = true;
    return true;
  }

  bool gave_way = false;
};

TEST(OpenHeads, TheOneThatBeganFirstGivesWay) {
  Reader first;
  Reader second;
  Reader third;
  OpenHeads heads{1000};
  heads.open(first, TimePoint{});
  heads.open(second, TimePoint{});
  EXPECT_TRUE(heads.grow(first, 400));
  EXPECT_TRUE(heads.grow(second, 600));

  heads.open(third, TimePoint{});
  EXPECT_TRUE(heads.grow(third, 300));

  EXPECT_TRUE(first.gave_way);
  EXPECT_FALSE(second.gave_way);
  EXPECT_EQ(heads.bytes(), 900U);
  EXPECT_EQ(heads.oldest(), &second);
}

TEST(OpenHeads, TheOneThatGrowsStaysWhenItBeganFirst) {
  Reader first;
  Reader second;
  OpenHeads heads{1000};
  heads.open(first, TimePoint{});
  heads.open(second, TimePoint{});
  EXPECT_TRUE(heads.grow(second, 600));

  EXPECT_TRUE(heads.grow(first, 500));

  EXPECT_FALSE(first.gave_way);
  EXPECT_TRUE(second.gave_way);
}

TEST(OpenHeads, MoreThanAllMayTakeIsRefusedAndTakesNothing) {
  Reader small;
  Reader large;
  OpenHeads heads{1000};
  heads.open(small, TimePoint{});
  heads.open(large, TimePoint{});
  EXPECT_TRUE(heads.grow(small, 100));

  EXPECT_FALSE(heads.grow(large, 1001));

  EXPECT_FALSE(small.gave_way);
  EXPECT_EQ(heads.bytes(), 100U);
}

TEST(OpenHeads, AFinishedHeadTakesNoMemory) {
  Reader reader;
  OpenHeads heads{1000};
  heads.open(reader, TimePoint{});
  EXPECT_TRUE(heads.grow(reader, 400));

  heads.close(reader);
  heads.close(reader);

  EXPECT_EQ(heads.bytes(), 0U);
  EXPECT_EQ(heads.oldest(), nullptr);
}

}  // namespace
}  // namespace sluice::net
