// Goal: what was recorded is decided again, bit for bit, from every point at which a recording may
// begin. Method: a scaler in a world that changes at random is recorded; its stretches are
// replayed.

#include "autoscaler/core/recording/recording.h"

#include "autoscaler/core/recording/decision_fields.h"
#include "autoscaler/core/recording/replay.h"
#include "tests/unit/autoscaler/core/recording/recorded_world.h"

#include <gtest/gtest.h>

#include <bit>
#include <sstream>
#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct Printing {
  std::ostringstream& out;

  void operator()(const char* name, double value) const {
    out << name << "=" << std::hexfloat << value << " ";
  }

  void operator()(const char* name, TimePoint value) const {
    out << name << "=" << value.time_since_epoch().count() << " ";
  }

  void operator()(const char* name, Duration value) const {
    out << name << "=" << value.count() << " ";
  }

  template <class Value>
  void operator()(const char* name, const std::optional<Value>& value) const {
    if (value) (*this)(name, *value);
  }

  template <class Value>
  void operator()(const char* name, Value value) const {
    out << name << "=" << static_cast<std::int64_t>(value) << " ";
  }
};

std::string shown(const DecisionRecord& record) {
  std::ostringstream out;
  each_figure(record, Printing{out});
  return out.str() + record.revision + ": " + why(record);
}

/// What a stretch says was decided, and what is decided when it is replayed.
struct Both {
  std::vector<std::string> recorded;
  std::vector<std::string> replayed;
};

Both replayed(const RecordedStretch& stretch) {
  Both both;
  Replay replay{stretch.start, "app-00001"};
  InputCode::Reader reader{stretch.code};
  while (auto input = reader.next()) {
    if (auto* const eval = std::get_if<EvalInput>(&*input)) {
      eval->decided.revision = "app-00001";
      both.recorded.push_back(shown(eval->decided));
    }
    if (const auto decided = replay.feed(*input)) both.replayed.push_back(shown(*decided));
  }
  return both;
}

TEST(Recording, EveryStretchIsDecidedAgainAsItWas) {
  std::size_t decisions = 0;
  std::size_t joins = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RecordedWorld world{seed};
    world.run(800);
    for (const RecordedStretch& stretch : world.recording().stretches()) {
      const Both both = replayed(stretch);
      ASSERT_EQ(both.replayed, both.recorded) << "seed " << seed;
      decisions += both.recorded.size();
      joins += stretch.joins ? 1 : 0;
    }
  }
  EXPECT_GT(decisions, 10'000U);
  EXPECT_GT(joins, 300U);
}

TEST(Recording, HoldsWhatTheScalerDecided) {
  RecordedWorld world{3};
  world.load(20, 300);

  std::vector<std::string> recorded;
  for (const RecordedStretch& stretch : world.recording().stretches()) {
    for (const std::string& each : replayed(stretch).recorded) recorded.push_back(each);
  }
  std::vector<std::string> decided;
  for (const DecisionRecord& record : world.decided()) decided.push_back(shown(record));
  EXPECT_EQ(recorded, decided);
  EXPECT_GT(recorded.size(), 140U);
}

TEST(Recording, AStretchThatJoinsBeginsWhereTheOneBeforeEnds) {
  RecordedWorld world{5};
  world.load(20, 400);
  const auto stretches = world.recording().stretches();
  ASSERT_GT(stretches.size(), 4U);

  Replay replay{stretches.front().start, "app-00001"};
  for (std::size_t i = 0; i + 1 < stretches.size(); ++i) {
    InputCode::Reader reader{stretches[i].code};
    while (const auto input = reader.next()) (void)replay.feed(*input);
    const RecordedStretch& next = stretches[i + 1];
    ASSERT_TRUE(next.joins);
    EXPECT_EQ(replay.start(next.start.at).state, next.start.state);
  }
}

TEST(Recording, WhatIsOlderThanTheTimeThatIsKeptGoes) {
  RecordedWorld world{1, {.kept = minutes{5}}};
  world.load(20, 1200);

  const auto stretches = world.recording().stretches();
  ASSERT_FALSE(stretches.empty());
  EXPECT_LE(stretches.front().start.at, at(world.now() - 240)) << "five minutes are there";
  EXPECT_GE(stretches.front().start.at, at(world.now() - 480));
}

TEST(Recording, AMinuteOfAServiceTakesLessThanSixteenKilobytes) {
  RecordedWorld world{1};
  world.load(20, 900);

  EXPECT_LT(world.recordings().bytes(), 15U * (16U << 10U));
  EXPECT_GT(world.recordings().bytes(), 1U << 10U);
}

// Goal: the bound is one for all: what takes more leaves less of the others, the oldest first.
TEST(Recording, AllTogetherStayWithinTheirBound) {
  constexpr std::size_t kMost = 256U << 10U;
  Recordings all{{.bytes_max = kMost}};
  std::vector<std::unique_ptr<Recording>> recordings;
  std::vector<std::unique_ptr<RevisionScaler>> scalers;
  for (int i = 0; i < 20; ++i) {
    recordings.push_back(std::make_unique<Recording>(all));
    scalers.push_back(std::make_unique<RevisionScaler>(
        RevisionScalerSpec{.scaling = {}, .revision = "app", .replicas = 1}, 1, at(0)));
    scalers.back()->record_to(recordings.back().get());
  }
  for (int now = 1; now < 600; ++now) {
    for (const auto& scaler : scalers) {
      (void)scaler->push({.average_concurrency = 1.0 / (1 + now % 7), .request_count = 3}, at(now));
      if (now % 2 == 0) (void)scaler->evaluate({.ready = 1}, at(now));
    }
    ASSERT_LE(all.bytes(), kMost);
  }
  for (const auto& recording : recordings) {
    const auto stretches = recording->stretches();
    ASSERT_FALSE(stretches.empty());
    EXPECT_GT(stretches.front().start.at, at(60)) << "the first minutes have gone";
    for (const RecordedStretch& stretch : stretches) {
      const Both both = replayed(stretch);
      EXPECT_EQ(both.replayed, both.recorded);
    }
  }
  recordings.clear();
  EXPECT_EQ(all.bytes(), 0U);
}

TEST(Recording, ASleepIsRecordedForAMinuteAndWhatWakesItBeginsAStretch) {
  RecordedWorld world{2};
  world.scaler().update({}, at(0));
  world.load(20, 20);
  world.scaler().sleep(at(world.now()));
  world.silence(300);
  EXPECT_FALSE(world.recording().runs());
  const auto before = world.recording().stretches();
  ASSERT_FALSE(before.empty());
  EXPECT_LT(before.back().until, at(world.now() - 180));

  world.load(5, 10);

  const auto stretches = world.recording().stretches();
  ASSERT_EQ(stretches.size(), before.size() + 1);
  EXPECT_FALSE(stretches.back().joins);
  const Both both = replayed(stretches.back());
  EXPECT_EQ(both.replayed, both.recorded);
  EXPECT_GE(both.recorded.size(), 5U);
}

TEST(Recording, AnotherScalerDoesNotJoinTheOneBefore) {
  RecordedWorld world{4};
  world.load(20, 10);
  world.recording().begin_again();
  world.load(20, 10);

  const auto stretches = world.recording().stretches();
  ASSERT_EQ(stretches.size(), 2U);
  EXPECT_FALSE(stretches.back().joins);
}

TEST(Recording, GrantsAreNotedWhenTheyChange) {
  RecordedWorld world{4};
  world.load(20, 4);
  Recording& recording = world.recording();
  recording.note_granted({.at = at(10), .granted = 2, .shortage = "no memory: 12 MiB free"});
  recording.note_granted({.at = at(11), .granted = 2, .shortage = "no memory: 13 MiB free"});
  recording.note_granted({.at = at(12), .granted = 2});

  std::vector<std::string> granted;
  const auto stretches = recording.stretches();
  InputCode::Reader reader{stretches.front().code};
  while (const auto input = reader.next()) {
    if (const auto* const note = std::get_if<GrantedNote>(&*input))
      granted.push_back(note->shortage);
  }
  EXPECT_EQ(granted, (std::vector<std::string>{"no memory: 12 MiB free", ""}));
}

TEST(InputCode, WhatWasAppendedIsRead) {
  InputCode code;
  const StatInput stat{.scraped = true,
                       .stat = {.average_concurrency = 0.1, .request_count = 1e9},
                       .at = at(2.000000001),
                       .newest = at(1)};
  code.append(stat);
  code.append(TrafficNote{.at = at(3),
                          .arrivals = 400,
                          .held = 2,
                          .in_flight = 1,
                          .service = {{std::chrono::milliseconds{20}, 399}},
                          .service_total = seconds{7},
                          .waited = {{std::chrono::milliseconds{5}, 3}},
                          .tenths = {1, 0, 0, 0, 0, 0, 0, 0, 0, 7}});
  code.append(
      ReplicaNote{.at = at(3.5), .event = ReplicaEvent::ready, .replicas = 4, .took = seconds{1}});
  ColdStartNote start{.at = at(4)};
  start.took.start = seconds{2};
  code.append(start);
  EvalInput eval{.inputs = {.proxy_for = std::nullopt, .probe_ok = std::nullopt}};
  eval.decided.time = at(5);
  eval.decided.desired = -1;
  eval.decided.panic_until = at(9);
  code.append(eval);

  InputCode::Reader reader{code};
  const auto first = std::get<StatInput>(*reader.next());
  EXPECT_TRUE(first.scraped);
  EXPECT_EQ(first.at, stat.at);
  EXPECT_EQ(first.newest, stat.newest);
  EXPECT_EQ(first.stat.average_concurrency, 0.1);
  EXPECT_EQ(first.stat.request_count, 1e9);
  const auto second = std::get<TrafficNote>(*reader.next());
  EXPECT_EQ(second.arrivals, 400);
  EXPECT_EQ(second.service.at(0).second, 399U);
  EXPECT_EQ(second.service_total, seconds{7});
  EXPECT_EQ(second.waited.at(0).second, 3U);
  EXPECT_EQ(second.tenths[9], 7U);
  const auto replica = std::get<ReplicaNote>(*reader.next());
  EXPECT_EQ(replica.at, at(3.5));
  EXPECT_EQ(replica.event, ReplicaEvent::ready);
  EXPECT_EQ(replica.replicas, 4);
  EXPECT_EQ(replica.took, seconds{1});
  EXPECT_EQ(std::get<ColdStartNote>(*reader.next()).took.start, seconds{2});
  const auto last = std::get<EvalInput>(*reader.next());
  EXPECT_FALSE(last.inputs.proxy_for);
  EXPECT_FALSE(last.inputs.probe_ok);
  EXPECT_EQ(last.decided.desired, -1);
  EXPECT_EQ(last.decided.panic_until, at(9));
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace sluice::autoscaler
