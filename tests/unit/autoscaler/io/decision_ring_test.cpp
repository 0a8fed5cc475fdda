#include "autoscaler/io/decision_ring.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

const RevisionId kOne{"default", "one"};
const RevisionId kTwo{"default", "two"};

TimePoint at(int second) {
  return TimePoint{seconds{1'000 + second}};
}

DecisionRecord decision(int second, std::int32_t bounded) {
  DecisionRecord record;
  record.time = at(second);
  record.bounded = bounded;
  return record;
}

TEST(DecisionRing, TellsThoseOfOneRevisionSinceATime) {
  DecisionRing ring;
  ring.add(kOne, decision(1, 1));
  ring.add(kTwo, decision(2, 7));
  ring.add(kOne, decision(3, 2));

  EXPECT_EQ(ring.since(kOne, at(0)).size(), 2U);
  EXPECT_EQ(ring.since(kOne, at(2)).front().bounded, 2);
  EXPECT_TRUE(ring.since(kTwo, at(3)).empty());
}

TEST(DecisionRing, KnowsTheDecisionInForce) {
  DecisionRing ring;
  ring.add(kOne, decision(1, 1));
  ring.add(kOne, decision(3, 2));

  EXPECT_FALSE(ring.at(kOne, at(0)).has_value());
  EXPECT_EQ(ring.at(kOne, at(2))->bounded, 1);
  EXPECT_EQ(ring.at(kOne, at(3))->bounded, 2);
  EXPECT_FALSE(ring.at(kTwo, at(3)).has_value());
}

TEST(DecisionRing, TheOldestMakeRoom) {
  DecisionRing ring{2};
  for (int i = 1; i <= 3; ++i) ring.add(kOne, decision(i, i));

  EXPECT_EQ(ring.size(), 2U);
  EXPECT_EQ(ring.since(kOne, at(0)).front().bounded, 2);
}

}  // namespace
}  // namespace sluice::autoscaler
