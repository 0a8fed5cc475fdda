#include "autoscaler/io/ring_history.h"

#include "autoscaler/io/decision_json.h"
#include "tests/unit/autoscaler/io/records_of.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;
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

model::Revision revision(const RevisionId& id) {
  model::Revision of;
  of.id = id;
  of.service = id.name;
  return of;
}

std::string bounds_of(const RingHistory& history, const RevisionId& id, TimePoint since) {
  std::string text;
  for (const json& each : records_of(history.decisions(revision(id), since))) {
    text += std::to_string(each.at("bounded").get<int>()) + " ";
  }
  return text;
}

std::string starts_of(const RingHistory& history, const RevisionId& id, TimePoint since) {
  std::string text;
  for (const json& each : records_of(history.cold_starts(revision(id), since))) {
    text += std::to_string(each.at("n").get<int>()) + " ";
  }
  return text;
}

TEST(RingHistory, ListsDecisionsOfOneRevisionSinceATimeTheNewestLast) {
  RingHistory history;
  history.record(revision(kOne), decision(1, 1));
  history.record(revision(kTwo), decision(2, 7));
  history.record(revision(kOne), decision(3, 2));

  EXPECT_EQ(bounds_of(history, kOne, at(0)), "1 2 ");
  EXPECT_EQ(bounds_of(history, kOne, at(2)), "2 ");
  EXPECT_EQ(bounds_of(history, kTwo, at(3)), "");
}

TEST(RingHistory, ReturnsTheDecisionInForce) {
  RingHistory history;
  history.record(revision(kOne), decision(1, 1));
  history.record(revision(kOne), decision(3, 2));

  EXPECT_FALSE(history.decision_at(revision(kOne), at(0)));
  EXPECT_EQ(history.decision_at(revision(kOne), at(2))->at("bounded"), 1);
  EXPECT_EQ(history.decision_at(revision(kOne), at(3))->at("bounded"), 2);
  EXPECT_FALSE(history.decision_at(revision(kTwo), at(3)));
}

TEST(RingHistory, TheOldestMakeRoomAlsoWhileTheyAreRead) {
  RingHistory history{2};
  for (int i = 1; i <= 3; ++i) history.record(revision(kOne), decision(i, i));
  EXPECT_EQ(bounds_of(history, kOne, at(0)), "2 3 ");

  const auto records = history.decisions(revision(kOne), at(0));
  while (records->find()) {
  }
  history.record(revision(kOne), decision(4, 4));
  std::string text;
  records->write(text, 0);
  EXPECT_EQ(text, "") << "it is gone";
  records->write(text, 1);
  EXPECT_EQ(json::parse(text).at("bounded"), 3);
}

TEST(RingHistory, LongOnesAreFoundALittleInEachCall) {
  RingHistory history;
  for (int i = 0; i < 5'000; ++i)
    history.record(revision(i % 2 == 0 ? kOne : kTwo), decision(i, i));
  const auto records = history.decisions(revision(kOne), at(0));
  int calls = 1;
  while (records->find()) ++calls;
  EXPECT_EQ(records->count(), 2'500U);
  EXPECT_GE(calls, 20);
}

TEST(RingHistory, ListsColdStartsTheNewestFirstUpToABound) {
  RingHistory history;
  for (int i = 0; i < 150; ++i) history.record_cold_start(revision(kOne), at(i), {{"n", i}});
  history.record_cold_start(revision(kTwo), at(150), {{"n", 150}});
  EXPECT_EQ(starts_of(history, kOne, at(147)), "149 148 147 ");
  EXPECT_EQ(records_of(history.cold_starts(revision(kOne), at(0))).size(), 100U);
  EXPECT_EQ(history.cold_start_at(revision(kOne), at(3))->at("n"), 3);
  EXPECT_FALSE(history.cold_start_at(revision(kTwo), at(3)));
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
