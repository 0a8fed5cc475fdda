#include "load/core/comparison.h"

#include "tests/unit/load/made_runs.h"

#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

constexpr double kTenPercent = 0.1;

RunComparison compared(const ComparedRun& before, const ComparedRun& now) {
  return compare(before, {&now}, kTenPercent);
}

Judgement of(const RunComparison& comparison, Figure figure) {
  for (const Compared& row : comparison.figures) {
    if (row.figure == figure) return row.judgement;
  }
  return Judgement::unclear;
}

// Method: fifteen runs of 60 s at 200/s with latencies of
// one distribution, each compared with each later one.
TEST(RunComparison, OfEqualRunsAtMostFiveOfAHundredAndFivePairsAreWorse) {
  std::mt19937_64 random{1};
  std::vector<ComparedRun> runs;
  for (int i = 0; i < 15; ++i) runs.push_back(made_run({}, random));
  int pairs = 0;
  int worse = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      ++pairs;
      if (compared(runs[i], runs[j]).judgement == Judgement::worse) ++worse;
    }
  }
  EXPECT_EQ(pairs, 105);
  EXPECT_LE(worse, 5);
}

// Method: each of ten runs compared with each of ten whose slowest requests take so much longer
// that their 99th percentile is 20 % higher.
TEST(RunComparison, AFifthMoreOfP99IsFoundNinetyFiveTimesOfAHundred) {
  std::mt19937_64 random{7};
  std::vector<ComparedRun> before;
  std::vector<ComparedRun> now;
  for (int i = 0; i < 10; ++i) {
    before.push_back(made_run({}, random));
    now.push_back(made_run({10, 0.5, 6.4, 0}, random));
  }
  int found = 0;
  for (const ComparedRun& one : before) {
    for (const ComparedRun& other : now) {
      const RunComparison comparison = compared(one, other);
      if (of(comparison, Figure::p99) == Judgement::worse) ++found;
      EXPECT_NE(of(comparison, Figure::p50), Judgement::worse);
    }
  }
  EXPECT_GE(found, 95);
}

TEST(RunComparison, ARunIsTheSameAsItself) {
  std::mt19937_64 random{3};
  ComparedRun run = made_run({10, 0.5, 0, 0.01}, random);
  run.figures[static_cast<std::size_t>(Figure::cold_start)] = 0.8;
  run.figures[static_cast<std::size_t>(Figure::replicas_max)] = 7;
  const RunComparison comparison = compared(run, run);
  EXPECT_EQ(comparison.judgement, Judgement::same);
  EXPECT_EQ(comparison.figures.size(), 9U);
  for (const Compared& row : comparison.figures) {
    EXPECT_EQ(row.judgement, Judgement::same) << name_of(row.figure);
    EXPECT_EQ(row.change, 0.0);
  }
}

TEST(RunComparison, OneSeedGivesTheSameIntervals) {
  std::mt19937_64 random{3};
  const ComparedRun before = made_run({}, random);
  const ComparedRun now = made_run({}, random);
  const RunComparison first = compared(before, now);
  const RunComparison second = compared(before, now);
  for (std::size_t i = 0; i < first.figures.size(); ++i) {
    EXPECT_EQ(first.figures[i].low, second.figures[i].low);
    EXPECT_EQ(first.figures[i].high, second.figures[i].high);
  }
}

TEST(RunComparison, AFasterServiceIsBetterAndASlowerOneWorse) {
  std::mt19937_64 random{4};
  const ComparedRun slow = made_run({12}, random);
  const ComparedRun fast = made_run({}, random);
  EXPECT_EQ(compared(slow, fast).judgement, Judgement::better);
  EXPECT_EQ(of(compared(slow, fast), Figure::p50), Judgement::better);
  EXPECT_EQ(compared(fast, slow).judgement, Judgement::worse);
}

TEST(RunComparison, WhatIsWithinTheToleranceIsTheSameHoweverSureItIs) {
  std::mt19937_64 random{5};
  const ComparedRun before = made_run({10, 0.05}, random);
  const ComparedRun now = made_run({10.5, 0.05}, random);
  const RunComparison comparison = compared(before, now);
  EXPECT_EQ(of(comparison, Figure::p50), Judgement::same);
  const Compared& p50 = comparison.figures.front();
  EXPECT_GT(*p50.low, 0);
  EXPECT_LT(*p50.high, kTenPercent);
}

TEST(RunComparison, AShortRunIsUnclearAndHasTheTimeThatItLacks) {
  std::mt19937_64 random{6};
  const ComparedRun before = made_run({10, 1}, random, 6);
  const ComparedRun now = made_run({10, 1}, random, 6);
  const RunComparison comparison = compared(before, now);
  EXPECT_EQ(comparison.judgement, Judgement::unclear);
  const Compared& p99 = comparison.figures[static_cast<std::size_t>(Figure::p99)];
  EXPECT_EQ(p99.judgement, Judgement::unclear);
  ASSERT_TRUE(p99.more.has_value());
  EXPECT_GT(*p99.more, std::chrono::seconds{6});
}

TEST(RunComparison, MoreErrorsAreWorseAlsoWhereThereWereNone) {
  std::mt19937_64 random{8};
  const ComparedRun before = made_run({}, random);
  const ComparedRun now = made_run({10, 0.5, 0, 0.01}, random);
  EXPECT_EQ(of(compared(before, now), Figure::error_rate), Judgement::worse);
  EXPECT_EQ(of(compared(now, before), Figure::error_rate), Judgement::better);
  EXPECT_EQ(of(compared(before, before), Figure::error_rate), Judgement::same);
}

// Method: a service whose runs differ by 20 % from each other, as on a busy machine, while each is
// steady within itself.
TEST(RunComparison, RepeatsShowHowRunsDifferFromEachOther) {
  std::mt19937_64 random{9};
  const ComparedRun before = made_run({10, 0.1}, random);
  std::vector<ComparedRun> runs;
  for (const double ms : {10.0, 13.0, 11.6}) {
    runs.push_back(made_run({ms, 0.1}, random));
  }
  EXPECT_EQ(of(compared(before, runs[2]), Figure::p50), Judgement::worse);
  const RunComparison all = compare(before, {&runs[0], &runs[1], &runs[2]}, kTenPercent);
  EXPECT_EQ(of(all, Figure::p50), Judgement::unclear);
  EXPECT_NEAR(*all.figures.front().now, 0.0116, 0.0002);
}

TEST(RunComparison, FiguresOfWhichARunHasOneValueNeedRepeats) {
  std::mt19937_64 random{10};
  const auto with_replicas = [&](double replicas) {
    ComparedRun run = made_run({}, random, 6);
    run.figures[static_cast<std::size_t>(Figure::replicas_max)] = replicas;
    return run;
  };
  const ComparedRun before = with_replicas(5);
  const ComparedRun more = with_replicas(9);
  EXPECT_EQ(of(compared(before, more), Figure::replicas_max), Judgement::unclear);
  const RunComparison repeated = compare(before, {&more, &more, &more}, kTenPercent);
  EXPECT_EQ(of(repeated, Figure::replicas_max), Judgement::worse);
}

TEST(RunComparison, AFigureThatOneRunLacksIsUnclear) {
  std::mt19937_64 random{11};
  const ComparedRun before = made_run({}, random, 6);
  ComparedRun now = before;
  now.figures[static_cast<std::size_t>(Figure::cold_start)] = 0.9;
  const RunComparison comparison = compared(before, now);
  EXPECT_EQ(of(comparison, Figure::cold_start), Judgement::unclear);
  EXPECT_EQ(comparison.figures.size(), 8U);
}

TEST(RunComparison, WarnsOfOtherMachinesLateGeneratorsAndMissingHistograms) {
  std::mt19937_64 random{12};
  ComparedRun before = made_run({}, random, 6);
  before.file = "main.json";
  before.machine = "a";
  ComparedRun now = before;
  now.file = "new.json";
  now.machine = "b";
  now.late = true;
  now.histograms = false;
  const std::vector<std::string> warnings = compared(before, now).warnings;
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_NE(warnings[0].find("new.json: its generator was late"), std::string::npos);
  EXPECT_NE(warnings[1].find("no histograms"), std::string::npos);
  EXPECT_NE(warnings[2].find("another machine, b, than main.json, a"), std::string::npos);
}

TEST(RunComparison, RunsOfOtherPlansAreRefusedWithTheFirstDifference) {
  ComparedRun before;
  before.file = "main.json";
  before.plan = {{"plan.seed", {"1"}}, {"plan.segments[].rate", {"200", "400"}}};
  ComparedRun now = before;
  now.file = "new.json";
  EXPECT_EQ(other_plan(before, now), std::nullopt);
  now.plan["plan.segments[].rate"] = {"200"};
  EXPECT_EQ(other_plan(before, now)->what,
            "new.json was planned otherwise than main.json: plan.segments[].rate is absent, it "
            "was 400");
  now = before;
  now.file = "new.json";
  now.plan["plan.shape"] = {"step 200:1s"};
  EXPECT_EQ(other_plan(before, now)->what,
            "new.json was planned otherwise than main.json: plan.shape is step 200:1s, it was "
            "absent");
}

TEST(RunComparison, RunsOfOneNameBehindTheBaselineAreRepeats) {
  std::mt19937_64 random{13};
  const ComparedRun baseline = made_run({}, random, 6);
  std::vector<ComparedRun> runs(3, baseline);
  runs[1].name = "b";
  const Comparisons comparisons = compare_all(baseline, runs, kTenPercent);
  ASSERT_EQ(comparisons.all.size(), 2U);
  EXPECT_EQ(comparisons.all[0].runs, (std::vector<const ComparedRun*>{&runs[0], &runs[2]}));
  EXPECT_EQ(comparisons.all[1].runs, (std::vector<const ComparedRun*>{&runs[1]}));
  EXPECT_EQ(comparisons.judgement(), Judgement::same);
}

}  // namespace
}  // namespace sluice::loadgen
