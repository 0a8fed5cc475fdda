// Goal: the text of a recording says what was recorded, and its reader accepts nothing else.

#include "autoscaler/io/recording_json.h"

#include "common/json/parse.h"
#include "tests/unit/autoscaler/core/recording/recorded_world.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace sluice::autoscaler {
namespace {

using nlohmann::json;

const About kOf{kApp, "app"};

std::vector<json> lines_of(const Recording& recording, TimePoint since = {}) {
  RecordingText text{recording.stretches(), kOf, "1.2.3", since};
  std::vector<json> lines;
  for (std::string line; text.next(line); line.clear()) {
    if (!line.empty()) lines.push_back(reading::parsed(line));
  }
  return lines;
}

// How many of the decisions in `lines` are not decided so here.
int differing(const std::vector<json>& lines) {
  const auto head = read_recording_head(lines.front());
  EXPECT_TRUE(head) << (head ? "" : head.error().what);
  Replay replay{head->start, head->of.id.name};
  int count = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto line = read_recorded(lines[i]);
    EXPECT_TRUE(line) << (line ? "" : line.error().what) << lines[i].dump();
    const auto decided = replay.feed(*line->input);
    if (!decided) continue;
    const json here = recorded_decision_json(*decided, kOf);
    for (const auto& [key, value] : here.items()) {
      if (lines[i].at(key) == value) continue;
      ++count;
      break;
    }
  }
  return count;
}

TEST(RecordingJson, ItsTextIsDecidedAgainAsItWas) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    RecordedWorld world{seed};
    world.run(500);
    const auto lines = lines_of(world.recording());
    ASSERT_GT(lines.size(), 200U);
    ASSERT_EQ(differing(lines), 0) << "seed " << seed;
  }
}

TEST(RecordingJson, FromAnyTimeOnItIsDecidedAgainAsItWas) {
  RecordedWorld world{7};
  world.run(500);
  for (std::int64_t since = 1; since < 500; since += 33) {
    const auto lines = lines_of(world.recording(), at(since));
    ASSERT_EQ(differing(lines), 0) << "since " << since;
  }
}

TEST(RecordingJson, TheWayToWhereItBeginsIsGoneALittleInEachCall) {
  RecordedWorld world{7};
  world.run(500);
  // The longest way is to the end of a stretch.
  const auto stretches = world.recording().stretches();
  ASSERT_GT(stretches.size(), 1U);
  RecordingText text{stretches, kOf, "1.2.3",
                     stretches.back().start.at - std::chrono::nanoseconds{1}};
  int calls = 0;
  std::string line;
  while (line.empty() && text.next(line)) ++calls;
  EXPECT_GT(calls, 10);
  EXPECT_TRUE(reading::parsed(line).contains("format"));
}

TEST(RecordingJson, BeginsWithTheFirstEvaluationSinceTheTimeThatWasAskedFor) {
  RecordedWorld world{1};
  world.load(20, 200);
  const auto lines = lines_of(world.recording(), at(101));

  EXPECT_EQ(lines.at(0).at("from"), "2023-11-14T22:15:01Z");
  EXPECT_EQ(lines.at(1).at("type"), "eval");
  EXPECT_EQ(lines.at(1).at("at_ns"),
            (kStart + std::chrono::seconds{102}).time_since_epoch().count());
}

TEST(RecordingJson, TheFirstLineHasFormatNameAndState) {
  RecordedWorld world{1};
  world.load(20, 4);
  const json head = lines_of(world.recording()).front();

  EXPECT_EQ(head.at("format"), "sluice-recording/1");
  EXPECT_EQ(head.at("version"), "1.2.3");
  EXPECT_EQ(head.at("service"), "app");
  EXPECT_EQ(head.at("revision"), "app-00001");
  EXPECT_TRUE(head.at("scaling").contains("stable_window_ns"));
  EXPECT_TRUE(head.at("given").at("config").contains("stable-window"));
  EXPECT_TRUE(head.at("handed").contains("concurrency_stable"));
}

TEST(RecordingJson, AnEvaluationHasTheWholeDecision) {
  RecordedWorld world{1};
  world.load(20, 8);
  for (const json& line : lines_of(world.recording())) {
    if (!line.contains("type") || line.at("type") != "eval") continue;
    for (const char* key : {"time",
                            "namespace",
                            "service",
                            "revision",
                            "trigger",
                            "valid",
                            "metric",
                            "stable",
                            "panic",
                            "target",
                            "total",
                            "ready",
                            "wanted_stable",
                            "wanted_panic",
                            "up_limit",
                            "down_limit",
                            "mode",
                            "desired",
                            "bounded",
                            "granted",
                            "bound_by",
                            "excess_burst_capacity",
                            "route_mode",
                            "why",
                            "inputs",
                            "at_ns",
                            "proxy_for_ns",
                            "probe_ok",
                            "activator_connected"}) {
      EXPECT_TRUE(line.contains(key)) << key;
    }
  }
}

TEST(RecordingJson, AScalerThatSleptBetweenIsTakenOver) {
  RecordedWorld world{2};
  world.scaler().update({}, at(0));
  world.load(20, 20);
  world.scaler().sleep(at(world.now()));
  world.silence(200);
  world.load(20, 20);

  const auto lines = lines_of(world.recording());
  const auto taken = std::count_if(lines.begin(), lines.end(), [](const json& line) {
    return line.contains("type") && line.at("type") == "take_over";
  });
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(differing(lines), 0);
}

TEST(RecordingJson, NotesComeBackAsTheyWere) {
  const TrafficNote traffic{.at = at(1),
                            .arrivals = 9,
                            .held = 1,
                            .in_flight = 2,
                            .service = {{std::chrono::microseconds{1500}, 8}},
                            .service_total = std::chrono::milliseconds{11},
                            .waited = {{std::chrono::microseconds{2500}, 2}},
                            .tenths = {0, 3}};
  const auto again = read_recorded(recorded_json(traffic, kOf));
  ASSERT_TRUE(again);
  const auto& note = std::get<TrafficNote>(*again->input);
  EXPECT_EQ(note.at, traffic.at);
  EXPECT_EQ(note.arrivals, 9);
  EXPECT_EQ(note.service, traffic.service);
  EXPECT_EQ(note.service_total, traffic.service_total);
  EXPECT_EQ(note.waited, traffic.waited);
  EXPECT_EQ(note.tenths, traffic.tenths);

  ColdStartNote start{.at = at(2)};
  start.took.start = std::chrono::milliseconds{57};
  const auto cold = read_recorded(recorded_json(start, kOf));
  ASSERT_TRUE(cold);
  EXPECT_EQ(std::get<ColdStartNote>(*cold->input).took, start.took);

  for (const ReplicaEvent event :
       {ReplicaEvent::started, ReplicaEvent::ready, ReplicaEvent::lost, ReplicaEvent::gone}) {
    const ReplicaNote replica{.at = at(3), .event = event, .replicas = 2};
    const auto read = read_recorded(recorded_json(replica, kOf));
    ASSERT_TRUE(read) << name(event);
    EXPECT_EQ(std::get<ReplicaNote>(*read->input).event, event);
    EXPECT_EQ(std::get<ReplicaNote>(*read->input).replicas, 2);
  }
}

TEST(RecordingJson, WhatAnOlderProgramDidNotNoteIsNothing) {
  nlohmann::json line = recorded_json(TrafficNote{.at = at(1), .arrivals = 9}, kOf);
  line.erase("service_total_ns");
  line.erase("wait_ms");
  const auto read = read_recorded(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<TrafficNote>(*read->input).arrivals, 9);
  EXPECT_TRUE(std::get<TrafficNote>(*read->input).waited.empty());
}

TEST(RecordingJson, AFigureThatIsNoNumberIsReadAsOne) {
  ScalingSpec scaling;
  scaling.decider.target_value = std::nan("");
  scaling.decider.panic_threshold = std::numeric_limits<double>::infinity();
  const auto again = read_recorded(recorded_json(SpecInput{.at = at(1), .scaling = scaling}, kOf));
  ASSERT_TRUE(again);
  const DeciderSpec& read = std::get<SpecInput>(*again->input).scaling.decider;
  EXPECT_TRUE(std::isnan(read.target_value));
  EXPECT_EQ(read.panic_threshold, std::numeric_limits<double>::infinity());
}

TEST(RecordingJson, AnotherFormatIsRefusedWithWords) {
  const auto newer = read_recording_head({{"format", "sluice-recording/2"}, {"version", "9.1.0"}});
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().text(),
            "its format is sluice-recording/2, which sluice 9.1.0 wrote; this one reads "
            "sluice-recording/1; use a newer sluice");
  const auto other = read_recording_head({{"rate", 5}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().what, "this is not a recording of sluice record");
}

TEST(RecordingJson, ATypeThatIsNotKnownIsNoInput) {
  const auto line = read_recorded({{"type", "moon_phase"}});
  ASSERT_TRUE(line);
  EXPECT_FALSE(line->input);
}

// Whatever is wrong with a state that a scaler is to continue from is reported, and never reaches
// it.
TEST(RecordingJson, AStateThatNoScalerSavedIsRefused) {
  RecordedWorld world{1};
  world.load(20, 100);
  const json good = lines_of(world.recording(), at(70)).front();
  ASSERT_TRUE(read_recording_head(good));
  const std::pair<const char*, json> changes[] = {
      {"/handed/concurrency_stable/values", json(std::vector<double>(4000, 1.0))},
      {"/handed/concurrency_stable/window_ns", 0},
      {"/handed/concurrency_stable/last", nullptr},
      {"/handed/concurrency_stable/first", 9'000'000'000'000},
      {"/handed/attention", nullptr},
      {"/handed/activity", "lively"},
      {"/handed/delay", {{"slots", 0}, {"entries", json::array()}}},
      {"/handed/peak_pods", 1e12},
      {"/handed/slept_at_ns", -1},
      {"/handed", nullptr},
      {"/scaling/stable_window_ns", 0},
      {"/scaling/stable_window_ns", 1e18},
      {"/scaling/target", "many"},
      {"/scaling", nullptr},
      {"/replicas", "two"},
      {"/replicas", -1},
      {"/at_ns", nullptr},
      {"/given/config/stable-window", "tomorrow"},
  };
  for (const auto& [place, value] : changes) {
    json bad = good;
    bad[json::json_pointer{place}] = value;
    const auto read = read_recording_head(bad);
    EXPECT_FALSE(read) << place;
  }
}

TEST(RecordingJson, AnInputThatNoScalerGotIsRefused) {
  const auto bounds = [](std::optional<std::int32_t> min, std::optional<std::int32_t> max) {
    return read_recorded(recorded_json(BoundsInput{min, max}, kOf)).has_value();
  };
  EXPECT_TRUE(bounds(5, 0)) << "a max of 0 is none";
  EXPECT_TRUE(bounds(5, 5));
  EXPECT_FALSE(bounds(5, 2));
  EXPECT_FALSE(bounds(-5, std::nullopt));
  EXPECT_FALSE(bounds(std::nullopt, -1));

  RecordedWorld world{1};
  world.load(20, 4);
  for (json line : lines_of(world.recording())) {
    if (!line.contains("type") || line.at("type") != "eval") continue;
    EXPECT_TRUE(read_recorded(line));
    line["ready"] = -5;
    EXPECT_FALSE(read_recorded(line));
  }
}

TEST(RecordingJson, TheMemberThatALineLacksIsNamed) {
  json line = recorded_json(StatInput{.stat = {}, .at = at(1)}, kOf);
  line.erase("request_count");
  const auto read = read_recorded(line);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what, "stat: request_count is missing");
}

}  // namespace
}  // namespace sluice::autoscaler
