#include "autoscaler/io/decision_ring.h"

#include "autoscaler/io/decision_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(DecisionRing, ReturnsDecisionsOfOneRevisionSinceATime) {
  DecisionRing ring;
  ring.add(kOne, decision(1, 1));
  ring.add(kTwo, decision(2, 7));
  ring.add(kOne, decision(3, 2));

  EXPECT_EQ(ring.since(kOne, at(0)).size(), 2U);
  EXPECT_EQ(ring.since(kOne, at(2)).front().bounded, 2);
  EXPECT_TRUE(ring.since(kTwo, at(3)).empty());
}

TEST(DecisionRing, ReturnsTheDecisionInForce) {
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

TEST(DecisionJson, ShowsTheAgeOfAPanicAndNoneWithoutOne) {
  DecisionRecord record;
  record.time = TimePoint{} + std::chrono::seconds{100};
  EXPECT_TRUE(mode_for_s(record).is_null());

  record.panic_entered = record.time - std::chrono::seconds{12};
  EXPECT_EQ(mode_for_s(record), 12.0);
}

}  // namespace
}  // namespace sluice::autoscaler
