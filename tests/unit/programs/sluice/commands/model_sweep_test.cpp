// Goal: a sweep runs each combination once and says which of the results are worth a choice.

#include "programs/sluice/commands/model_sweep.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace sluice::commands {
namespace {

using std::chrono::milliseconds;
using Texts = std::vector<std::string>;

SweepRow row(double cost, double wait_ms, std::uint64_t refused) {
  return {.replica_seconds = cost, .wait_p99_ms = wait_ms, .refused = refused};
}

/// A digit for each row: 1 unbeaten.
std::string unbeaten(std::vector<SweepRow> rows) {
  mark_unbeaten(rows);
  std::string marks;
  for (const SweepRow& each : rows) marks += each.unbeaten ? '1' : '0';
  return marks;
}

bool met(const std::string& goal, const simulation::Outcome& outcome) {
  const auto parsed = Goal::parse(goal);
  EXPECT_TRUE(parsed) << goal;
  return parsed && parsed->met(outcome);
}

TEST(Sweep, EachCombinationIsARunAndTheLastKeyChangesFirst) {
  const auto sweep = Sweep::parse({"target=10,20", "window=30s,60s"});

  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->keys(), (Texts{"target", "window"}));
  EXPECT_EQ(sweep->runs(),
            (std::vector<Texts>{{"10", "30s"}, {"10", "60s"}, {"20", "30s"}, {"20", "60s"}}));
}

TEST(Sweep, TextThatIsNoSweepIsRefused) {
  EXPECT_FALSE(Sweep::parse({"target"}));
  EXPECT_FALSE(Sweep::parse({"=10"}));
  EXPECT_FALSE(Sweep::parse({"target=10", "target=20"}));
}

TEST(Sweep, KeyThatIsSetAsWellIsRefused) {
  const auto sweep = Sweep::parse({"target=10,20"});

  ASSERT_TRUE(sweep);
  EXPECT_FALSE(sweep->conflict_with({"window=30s"}));
  const auto conflict = sweep->conflict_with({"window=30s", "target=5"});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->what, "--set, --sweep: target is in both");
}

TEST(Sweep, MoreRunsThanTheLimitAreRefused) {
  const std::string ten = "=0,1,2,3,4,5,6,7,8,9";

  EXPECT_TRUE(Sweep::parse({"a" + ten, "b" + ten, "c" + ten}));
  EXPECT_FALSE(Sweep::parse({"a" + ten, "b" + ten, "c" + ten, "d=0,1"}));
}

TEST(Sweep, RunThatIsWorseInNothingIsUnbeaten) {
  EXPECT_EQ(unbeaten({row(10, 100, 0), row(20, 50, 0), row(20, 100, 0)}), "110");
  EXPECT_EQ(unbeaten({row(10, 100, 5), row(10, 100, 0)}), "01");
  EXPECT_EQ(unbeaten({row(10, 100, 0), row(10, 100, 0)}), "11");
}

TEST(Sweep, CheapestIsTheFirstOfThoseThatMeetTheGoal) {
  std::vector<SweepRow> rows{row(10, 300, 0), row(20, 50, 0), row(20, 40, 0)};
  rows[0].meets_goal = false;

  EXPECT_EQ(cheapest(rows), 1U);
  rows[1].meets_goal = rows[2].meets_goal = false;
  EXPECT_EQ(cheapest(rows), std::nullopt);
}

TEST(Sweep, TableNamesSettingsMarksAndTheCheapest) {
  std::vector<SweepRow> rows{row(10, 300, 0), row(20, 50, 0), row(30, 60, 0)};
  const Texts values{"5", "10", "100"};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].values = {values[i]};
  rows[0].meets_goal = false;
  mark_unbeaten(rows);
  const auto goal = Goal::parse("wait.p99 < 200ms");
  std::ostringstream out;
  print_sweep(out, ReplayFormat::text, {"target"}, rows, &*goal);

  EXPECT_EQ(out.str(),
            "target  replica-seconds  most  cold starts  panics    p50 ms    p99 ms  refused\n"
            "     5             10.0     0            0       0       0.0     300.0        0  *\n"
            "    10             20.0     0            0       0       0.0      50.0        0  *\n"
            "   100             30.0     0            0       0       0.0      60.0        0\n"
            "\n"
            "* no other run has fewer replica-seconds, a shorter p99 of the wait or fewer refused "
            "without more of another\n"
            "cheapest with wait.p99 < 200ms: target=10\n");
}

TEST(Goal, EachFigureIsComparedInItsUnit) {
  simulation::Outcome outcome;
  outcome.refused = 3;
  outcome.cold_starts = 2;
  outcome.panics = 1;
  outcome.pods_max = 7;
  outcome.pod_seconds = 431.5;
  for (int i = 1; i <= 100; ++i) outcome.waits.record(milliseconds{i});

  EXPECT_TRUE(met("wait.p99 < 200ms", outcome));
  EXPECT_FALSE(met("wait.p99 < 50ms", outcome));
  EXPECT_TRUE(met("wait.p50 <= 51ms", outcome));
  EXPECT_TRUE(met("wait.max == 100ms", outcome));
  EXPECT_TRUE(met("refused == 3", outcome));
  EXPECT_TRUE(met("cold_starts >= 2", outcome));
  EXPECT_FALSE(met("panics != 1", outcome));
  EXPECT_TRUE(met("replicas.max > 6", outcome));
  EXPECT_TRUE(met("replica_seconds < 431.6", outcome));
}

TEST(Goal, TextThatIsNoGoalIsRefused) {
  for (const char* const text :
       {"", "p99 < 200ms", "wait.p99", "wait.p99 < 200", "wait.p100 < 1s", "refused < 1ms"}) {
    EXPECT_FALSE(Goal::parse(text)) << text;
  }
  EXPECT_EQ(Goal::parse("wait.p99 < 200").error().text(),
            "--goal 'wait.p99 < 200': '200' is no time; write one with its unit, like 200ms");
}

}  // namespace
}  // namespace sluice::commands
