#include "platform/knative/core/shadow_book.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RevisionId kId{"shop", "web-00001"};

class ShadowBookTest : public ::testing::Test {
 protected:
  // Whether a lasting difference was reported.
  bool at(Duration after, std::int32_t ours, std::optional<std::int32_t> theirs) {
    return book_.compare(kId, ours, theirs, TimePoint{seconds{1000}} + after).has_value();
  }

  ShadowBook book_;
};

TEST_F(ShadowBookTest, CountsWhatIsTheSameAndWhatIsNot) {
  EXPECT_FALSE(at(seconds{0}, 1, 1));
  EXPECT_FALSE(at(seconds{2}, 3, 1));
  EXPECT_FALSE(at(seconds{4}, 3, 3));
  EXPECT_EQ(book_.counts().agreements, 2U);
  EXPECT_EQ(book_.counts().differences, 1U);
  EXPECT_EQ(book_.find(kId)->ours, 3);
  EXPECT_EQ(book_.find(kId)->differ_since, std::nullopt);
}

TEST_F(ShadowBookTest, OneDecisionIsComparedOnceHoweverOftenItIsTold) {
  EXPECT_FALSE(at(milliseconds{0}, 1, 1));
  EXPECT_FALSE(at(milliseconds{300}, 1, 1));
  EXPECT_FALSE(at(milliseconds{900}, 1, 1));
  EXPECT_EQ(book_.counts().agreements, 1U);
}

TEST_F(ShadowBookTest, TellsOnceOfADifferenceThatLasts) {
  EXPECT_FALSE(at(seconds{0}, 3, 1));
  EXPECT_FALSE(at(seconds{10}, 3, 1));
  EXPECT_TRUE(at(seconds{12}, 4, 1));
  EXPECT_FALSE(at(seconds{30}, 3, 1));
}

TEST_F(ShadowBookTest, AnAgreementBetweenStartsAnew) {
  EXPECT_FALSE(at(seconds{0}, 3, 1));
  EXPECT_FALSE(at(seconds{8}, 3, 3));
  EXPECT_FALSE(at(seconds{12}, 3, 1));
  EXPECT_TRUE(at(seconds{23}, 3, 1));
}

TEST_F(ShadowBookTest, WhatKnativeHasNotSaidIsNotCompared) {
  EXPECT_FALSE(at(seconds{0}, 3, std::nullopt));
  EXPECT_EQ(book_.find(kId), nullptr);
  EXPECT_EQ(book_.counts().differences, 0U);
}

}  // namespace
}  // namespace sluice::autoscaler
