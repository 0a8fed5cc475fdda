// Goal: a replay says whether this build decides what was decided, and what it would have decided
// with other settings.

#include "autoscaler/io/recording_json.h"
#include "common/base/version.h"
#include "tests/unit/autoscaler/core/recording/recorded_world.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/recording_file.h"
#include "programs/sluice/commands/replay_report.h"
#include "programs/sluice/commands/replay_run.h"
#include "programs/sluice/commands/scaling_change.h"
#include <fstream>
#include <sstream>

namespace sluice::commands {
namespace {

using autoscaler::RecordedWorld;
using nlohmann::json;
using Lines = std::vector<std::string>;
using Next = RecordingLines::Next;

Lines recorded(RecordedWorld& world, std::string version = std::string{kVersion}) {
  autoscaler::RecordingText text{
      world.recording().stretches(), {autoscaler::kApp, "app"}, std::move(version), {}};
  Lines lines;
  for (std::string line; text.next(line); line.clear()) {
    line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

Lines minute_of_load(std::string version = std::string{kVersion}) {
  RecordedWorld world{1, {}, autoscaler::ScalingSpec{}};
  world.load(300, 60);
  world.recording().note(autoscaler::TrafficNote{.at = autoscaler::at(60), .held = 3});
  world.recording().note(autoscaler::TrafficNote{.at = autoscaler::at(61)});
  return recorded(world, std::move(version));
}

std::string replayed(const Lines& lines, const Lines& sets = {},
                     ReplayFormat format = ReplayFormat::text) {
  const auto edits = ScalingEdits::parse(sets);
  EXPECT_TRUE(edits);
  std::ostringstream out;
  ReplayReport report{out, format, *edits};
  ReplayRun run{*edits, [&](const TimelineRow& row) { report.row(row); }};
  for (const std::string& line : lines) {
    const auto wrong = run.take(line);
    EXPECT_FALSE(wrong) << wrong.value_or("");
  }
  report.finish(run, {});
  return out.str();
}

// The line of a recording's nth evaluation.
std::size_t evaluation(const Lines& lines, int n) {
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (lines[at].find(R"("type":"eval")") != std::string::npos && n-- == 0) return at;
  }
  return 0;
}

TEST(Simulate, WhatWasDecidedIsDecidedAgain) {
  EXPECT_EQ(replayed(minute_of_load()), "30 decisions, all equal\n");
}

TEST(Simulate, ThousandsAreGrouped) {
  RecordedWorld world{1, {.kept = std::chrono::hours{2}}, autoscaler::ScalingSpec{}};
  world.load(70, 2408);
  EXPECT_EQ(replayed(recorded(world)), "1,204 decisions, all equal\n");
}

TEST(Simulate, ADecisionThatWasEditedIsTheFirstDifference) {
  Lines lines = minute_of_load();
  const std::size_t at = evaluation(lines, 9);
  json edited = json::parse(lines[at]);
  const auto desired = edited["desired"].get<int>();
  edited["desired"] = desired + 1;
  lines[at] = edited.dump();

  const std::string text = replayed(lines);
  EXPECT_NE(
      text.find("decision " + std::to_string(10) + " differs, line " + std::to_string(at + 1)),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  desired\n    recorded " + std::to_string(desired + 1) + "\n    here     " +
                      std::to_string(desired) + "\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("30 decisions, 1 differ\n"), std::string::npos) << text;
}

TEST(Simulate, AnInputThatWasEditedChangesWhatIsDecided) {
  Lines lines = minute_of_load();
  for (std::string& line : lines) {
    if (line.find(R"("type":"stat")") == std::string::npos) continue;
    json stat = json::parse(line);
    stat["average_concurrency"] = stat["average_concurrency"].get<double>() * 2;
    line = stat.dump();
  }
  EXPECT_EQ(replayed(lines).find("all equal"), std::string::npos);
}

TEST(Simulate, AKeyThatALineLacksDiffers) {
  Lines lines = minute_of_load();
  const std::size_t at = evaluation(lines, 0);
  json edited = json::parse(lines[at]);
  edited.erase("bound_by");
  edited["inputs"].erase("breach");
  lines[at] = edited.dump();

  const std::string text = replayed(lines);
  EXPECT_NE(text.find("  bound_by\n    recorded nothing\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  inputs.breach\n"), std::string::npos) << text;
}

TEST(Simulate, AKeyThatAnotherVersionDidNotWriteIsNoDifference) {
  Lines lines = minute_of_load("0.0.1");
  for (std::string& line : lines) {
    json edited = json::parse(line);
    edited.erase("bound_by");
    line = edited.dump();
  }
  EXPECT_EQ(replayed(lines), "30 decisions, all equal\n");
}

TEST(Simulate, OtherSettingsDecideOtherwiseOnWhatWasObserved) {
  const std::string text = replayed(minute_of_load(), {"target=30", "target-burst-capacity=0"});

  EXPECT_NE(text.find("with target=30 target-burst-capacity=0"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 2 s were saturated: with other settings the observation itself would "
                      "differ\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("equal"), std::string::npos) << text;
}

TEST(Simulate, AnUpperBoundHolds) {
  const std::string csv = replayed(minute_of_load(), {"max-scale=2"}, ReplayFormat::csv);
  std::istringstream rows{csv};
  std::string row;
  std::getline(rows, row);
  EXPECT_EQ(row,
            "time,ready,stable,panic,recorded_want,recorded_mode,recorded_bound_by,want,mode,"
            "bound_by");
  int count = 0;
  while (std::getline(rows, row)) {
    ++count;
    EXPECT_NE(row.find(",2,"), std::string::npos) << row;
  }
  EXPECT_EQ(count, 30);
}

TEST(Simulate, EqualInputGivesEqualBytes) {
  const Lines lines = minute_of_load();
  for (const ReplayFormat format : {ReplayFormat::text, ReplayFormat::json, ReplayFormat::csv}) {
    EXPECT_EQ(replayed(lines, {"window=30s"}, format), replayed(lines, {"window=30s"}, format));
  }
}

TEST(Simulate, TheDocumentHasRowsAndTotals) {
  const json document = json::parse(replayed(minute_of_load(), {}, ReplayFormat::json));
  EXPECT_EQ(document.at("rows").size(), 30U);
  EXPECT_EQ(document.at("decisions"), 30);
  EXPECT_EQ(document.at("equal"), 30);
  EXPECT_TRUE(document.at("first_difference").is_null());
  EXPECT_EQ(document.at("saturated_s"), 1);
  EXPECT_EQ(document.at("recorded").at("most_replicas"),
            document.at("decided").at("most_replicas"));
}

TEST(Simulate, ALineThatIsNoRecordingIsNamed) {
  ReplayRun run{{}, {}};
  EXPECT_EQ(run.take("time,count"),
            "this is not a recording of sluice record, or its first line was cut; a trace of "
            "another kind is for --traffic FILE");
  ReplayRun second{{}, {}};
  EXPECT_FALSE(second.take(minute_of_load().front()));
  EXPECT_EQ(second.take("{"), "it is not JSON");
  EXPECT_EQ(second.take("{}"), "it has no type");
}

TEST(Simulate, AValueThatCannotBeIsNoFaultOfTheRecording) {
  ReplayRun run{*ScalingEdits::parse({"target=-5"}), {}};
  EXPECT_TRUE(run.take(minute_of_load().front()));
  ASSERT_TRUE(run.wrong_settings());
  EXPECT_TRUE(run.wrong_settings()->starts_with("--set: ")) << *run.wrong_settings();
  ReplayRun other{*ScalingEdits::parse({"target=5"}), {}};
  EXPECT_TRUE(other.take("{}"));
  EXPECT_FALSE(other.wrong_settings());
}

TEST(Simulate, TheHeadingNamesTheSpecAndWhatIsSet) {
  auto edits = ScalingEdits::parse({"target=30"});
  ASSERT_TRUE(edits);
  edits->replace_service({}, 0);
  std::ostringstream out;
  const ReplayReport report{out, ReplayFormat::text, *edits};
  EXPECT_TRUE(out.str().ends_with("with the other spec and target=30\n")) << out.str();
}

TEST(ScalingEdits, AMisspelledKeyIsSuggested) {
  const auto edits = ScalingEdits::parse({"targt=50"});
  ASSERT_FALSE(edits);
  EXPECT_EQ(edits.error().text(), "--set: unknown setting targt; did you mean target?");
  EXPECT_FALSE(ScalingEdits::parse({"target"}));
  EXPECT_FALSE(ScalingEdits::parse({"=5"}));
}

TEST(ScalingEdits, EveryKeyOfServicesAndOfTheClusterIsAccepted) {
  for (const std::string& key : autoscaler::annotation_keys()) {
    EXPECT_TRUE(ScalingEdits::parse({key + "=1"})) << key;
    EXPECT_TRUE(ScalingEdits::parse({key.substr(key.find('/') + 1) + "=1"})) << key;
  }
  for (const autoscaler::ClusterKey& key : autoscaler::cluster_config_keys()) {
    EXPECT_TRUE(ScalingEdits::parse({key.name + "=1"})) << key.name;
  }
}

TEST(ScalingEdits, ResolveAsALiveChangeDoes) {
  const auto edits = ScalingEdits::parse({"target=50", "stable-window=30s"});
  ASSERT_TRUE(edits);
  const autoscaler::GivenScaling given{.container_concurrency = 10};
  const auto spec = edits->apply({}, given);
  EXPECT_EQ(spec.decider.total_value, 10) << "not above the limit of a container";
  EXPECT_EQ(spec.decider.target_value, 7);
  EXPECT_EQ(spec.decider.stable_window, std::chrono::seconds{30});
}

TEST(ScalingEdits, LiveBoundsStayUnlessTheyAreSet) {
  autoscaler::ScalingSpec live;
  live.bounds = {.min = 3, .max = 9};
  const auto other = ScalingEdits::parse({"target=50"});
  EXPECT_EQ(other->apply(live, {}).bounds, live.bounds);
  const auto bound = ScalingEdits::parse({"max-scale=4"});
  EXPECT_EQ(bound->apply(live, {}).bounds, (autoscaler::Bounds{.min = 3, .max = 4}));
  EXPECT_FALSE(bound->apply(autoscaler::BoundsInput{.min = 1, .max = 7}).max);
}

TEST(ScalingEdits, AValueThatCannotBeIsRefused) {
  const auto edits = ScalingEdits::parse({"window=tomorrow"});
  ASSERT_TRUE(edits);
  EXPECT_TRUE(edits->problem_with({}));
  const auto config = ScalingEdits::parse({"max-scale-up-rate=0"});
  EXPECT_TRUE(config->problem_with({}));
}

TEST(ScalingEdits, ANumberThatIsNotFiniteIsRefused) {
  for (const char* const value : {"nan", "NaN", "inf", "-Infinity"}) {
    const auto edits = ScalingEdits::parse({std::string{"target="} + value});
    ASSERT_FALSE(edits) << value;
    EXPECT_NE(edits.error().text().find("is no finite number"), std::string::npos);
    EXPECT_FALSE(ScalingEdits::parse({std::string{"max-scale-up-rate="} + value}));
  }
}

class RecordingFileTest : public ::testing::Test {
 protected:
  static std::vector<std::string> read(const std::filesystem::path& path, Next& last) {
    auto lines = RecordingLines::open(path);
    EXPECT_TRUE(lines);
    std::vector<std::string> all;
    std::string line;
    while ((last = lines->next(line)) == Next::line) all.push_back(line);
    if (last == Next::cut) all.push_back(line);
    return all;
  }

  static std::string bytes(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  local::TemporaryDirectory directory_;
  std::string text_ = "first\nsecond\n" + std::string(300'000, 'x') + "\nlast\n";
};

TEST_F(RecordingFileTest, CompressedOrNotItHasTheSameLines) {
  for (const char* name : {"a.jsonl", "a.jsonl.gz"}) {
    const auto path = directory_.path() / name;
    ASSERT_FALSE(write_recording(path, text_));
    Next end = Next::line;
    const auto lines = read(path, end);
    EXPECT_EQ(end, Next::end);
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[2].size(), 300'000U);
    EXPECT_EQ(lines[3], "last");
  }
  EXPECT_LT(bytes(directory_.path() / "a.jsonl.gz").size(), 2000U);
}

TEST_F(RecordingFileTest, WhatWasCutIsSaid) {
  for (const char* name : {"a.jsonl", "a.jsonl.gz"}) {
    const auto path = directory_.path() / name;
    ASSERT_FALSE(write_recording(path, text_));
    const std::string whole = bytes(path);
    std::ofstream{path, std::ios::binary} << whole.substr(0, whole.size() - 3);
    Next end = Next::line;
    (void)read(path, end);
    EXPECT_EQ(end, Next::cut) << name;
  }
}

TEST_F(RecordingFileTest, WhatIsDamagedIsSaid) {
  const auto path = directory_.path() / "a.jsonl.gz";
  std::string noise;
  for (unsigned i = 0; i < 40'000; ++i) noise += std::to_string(i * 2654435761U) + "\n";
  ASSERT_FALSE(write_recording(path, noise));
  std::string whole = bytes(path);
  for (std::size_t at = whole.size() / 2; at < whole.size() / 2 + 40; ++at) whole[at] = '\x7f';
  std::ofstream{path, std::ios::binary} << whole;
  Next end = Next::line;
  (void)read(path, end);
  EXPECT_EQ(end, Next::damaged);
}

TEST_F(RecordingFileTest, ALineLongerThanAnyIsNotReadWhole) {
  const auto path = directory_.path() / "a";
  std::ofstream{path} << std::string(autoscaler::kRecordingLineMax + (1U << 20U), 'x');
  Next end = Next::line;
  (void)read(path, end);
  EXPECT_EQ(end, Next::too_long);
}

TEST_F(RecordingFileTest, AFileThatIsNotThereIsNamed) {
  const auto lines = RecordingLines::open(directory_.path() / "none");
  ASSERT_FALSE(lines);
  EXPECT_NE(lines.error().what.find("none cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace sluice::commands
