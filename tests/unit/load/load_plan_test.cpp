#include "load/core/load_plan.h"

#include <gtest/gtest.h>

#include "load/core/report.h"

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

// Two targets; 10/s for 10 s to the first, 2 s of nothing, 20/s for 5 s to both.
LoadPlan two_phases() {
  LoadPlan plan;
  plan.name = "demo";
  plan.arrivals = Arrivals::uniform;
  plan.targets = {{.name = "shop", .url = "http://shop.localhost"},
                  {.name = "pay", .url = "http://pay.localhost"}};
  plan.phases = {{.name = "calm", .segments = {{10, 10s}}, .mix = {1, 0}},
                 {.name = "quiet", .segments = {{0, 2s}}},
                 {.name = "rush", .segments = {{20, 5s}}}};
  plan.duration = 17s;
  return plan;
}

TEST(Pacer, RunsPhasesInTurnEachWithItsMix) {
  const LoadPlan plan = two_phases();
  Pacer pacer{plan};
  std::vector<std::vector<int>> sent(3, std::vector<int>(2));
  Duration before{0};

  while (pacer.next()) {
    const PlannedRequest planned = pacer.take();
    EXPECT_GE(planned.at, before);
    EXPECT_GE(planned.at, plan.begin_of(planned.phase));
    EXPECT_LT(planned.at, plan.begin_of(planned.phase + 1));
    before = planned.at;
    ++sent.at(planned.phase).at(planned.target);
  }

  EXPECT_EQ(sent, (std::vector<std::vector<int>>{{100, 0}, {0, 0}, {50, 50}}));
}

TEST(Pacer, PutsAReplayOnTheTimeOfItsPhase) {
  LoadPlan plan = two_phases();
  plan.phases[1].segments.clear();
  plan.phases[1].replay = Replay{.requests = 2, .length = 2s};
  std::vector<CellReader> cells(3);
  cells[1] = [](const CellSink& sink) {
    TraceCell cell;
    cell.method = "HEAD";
    sink(cell);
    cell.at = 1s;
    sink(cell);
    return false;
  };
  Pacer pacer{plan, std::move(cells)};
  std::vector<Duration> replayed;

  while (pacer.next()) {
    const PlannedRequest planned = pacer.take();
    if (planned.as == SentAs::head) replayed.push_back(planned.at);
    EXPECT_EQ(planned.phase == 1, planned.as == SentAs::head);
  }

  EXPECT_EQ(replayed, (std::vector<Duration>{10s, 11s}));
}

TEST(LoadPlan, DescribesAScenario) {
  LoadPlan plan = two_phases();
  plan.arrivals = Arrivals::poisson;
  EXPECT_EQ(describe(plan), "demo: open loop, 3 phases in 17 s, 2 targets, poisson, seed 1");
  EXPECT_EQ(plan_text(plan),
            "demo: open loop, 3 phases in 17 s, 2 targets, poisson, seed 1\n"
            "  target shop             GET http://shop.localhost\n"
            "  target pay              GET http://pay.localhost\n"
            "  phase calm              0 s + 10 s    10/s    about 100 requests    shop 100 %\n"
            "  phase quiet             10 s + 2 s    0/s    about 0 requests\n"
            "  phase rush              12 s + 5 s    20/s    about 100 requests\n");
}

void answer(Results& results, std::size_t target, std::size_t phase, Duration at,
            Duration latency) {
  const PlannedRequest planned{.at = at, .target = target, .phase = phase};
  results.sent(planned, at);
  results.finished(planned, {at, at, at + latency, Ending::answered, 200});
}

Report judged_report() {
  Report report;
  report.plan = two_phases();
  for (const char* text : {"p99 < 15ms", "p99@calm < 15ms", "pay.p99 < 15ms", "pay.p99@rush < 25ms",
                           "shop.errors@rush == 0", "rate@rush > 0.9"}) {
    report.plan.conditions.push_back(*parse_expression(text, Use::assertion));
  }
  report.length = 17s;
  report.results = Results{report.plan};
  for (int i = 0; i < 10; ++i) answer(report.results, 0, 0, i * 1s, 10ms);
  for (int i = 0; i < 5; ++i) answer(report.results, 1, 2, 12s + i * 1s, 20ms);
  const PlannedRequest lost{.at = 16s, .target = 0, .phase = 2};
  report.results.sent(lost, 16s);
  report.results.finished(lost, {16s, 16s, 16s, Ending::reset});
  return report;
}

TEST(Judge, AppliesAssertionsToTheirPartOfTheRun) {
  std::string text;
  for (const Verdict& verdict : judge(judged_report())) {
    text += verdict.expression + ": " + verdict.shown + (verdict.failed ? " failed" : "") + "\n";
  }

  EXPECT_EQ(text,
            "p99 < 15ms: 20.0 ms failed\n"
            "p99@calm < 15ms: 10.0 ms\n"
            "pay.p99 < 15ms: 20.0 ms failed\n"
            "pay.p99@rush < 25ms: 20.0 ms\n"
            "shop.errors@rush == 0: 1 failed\n"
            "rate@rush > 0.9: 1.2/s\n");
}

TEST(ReportText, HasALineForEachPhaseAndTarget) {
  const Report report = judged_report();
  const std::string text = report_text(report, judge(report));

  for (const char* line :
       {"  FAILED                      p99 < 15ms: 20.0 ms\n",
        "  phase calm                  10 sent, 10 answered    p50 10.0",
        "  phase quiet                 0 sent, 0 answered\n",
        "  phase rush                  6 sent, 5 answered, errors 1    p50 20.0",
        "  target shop                 11 sent, 10 answered, errors 1    p50 10.0",
        "  target pay                  5 sent, 5 answered    p50 20.0",
        "  passed                      p99@calm < 15ms: 10.0 ms\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

// What queues up in one phase and is sent in the next is late, though the run ends on time.
TEST(ReportText, FindsThePhaseThatWasLate) {
  Report report;
  report.plan = two_phases();
  report.length = 17s;
  report.results = Results{report.plan};
  for (int i = 0; i < 100; ++i) {
    const PlannedRequest planned{.at = i * 100ms, .target = 0, .phase = 0};
    report.results.sent(planned, planned.at + i * 20ms);
    report.results.finished(planned, {planned.at, planned.at, 12s, Ending::answered, 200});
  }
  for (int i = 0; i < 100; ++i) answer(report.results, 1, 2, 12s + i * 50ms, 1ms);

  EXPECT_TRUE(is_late(report, {.phase = 0}));
  EXPECT_FALSE(is_late(report, {.phase = 2}));
  EXPECT_TRUE(is_late(report));
}

TEST(ReplicaTrack, JoinsServicesAsIfTheyWereOne) {
  std::vector<ReplicaTrack> tracks(4);
  for (std::size_t i = 0; i < 3; ++i) {
    tracks[i].join(i == 2 ? "a" : i == 0 ? "a" : "b");  // two targets of one service
    tracks[i].begin();
    tracks[i].replica(i == 1 ? 2s : 1s, "1", true);
  }
  tracks[1].replica(3s, "2", true);
  tracks[0].replica(4s, "1", false);
  tracks[2].replica(4s, "1", false);
  tracks[0].cold_start(1s, 100ms, "1");
  tracks[2].cold_start(1s, 100ms, "1");
  tracks[1].cold_start(2s, 300ms, "1");

  const ReplicaTrack all = ReplicaTrack::merged(tracks);

  EXPECT_EQ(all.service(), "a, b");
  EXPECT_EQ(all.points(),
            (std::vector<ReplicaTrack::Point>{{0s, 0}, {1s, 1}, {2s, 2}, {3s, 3}, {4s, 2}}));
  EXPECT_EQ(all.ready_max(), 3U);
  EXPECT_EQ(all.cold_start_times().count(), 2U);
  EXPECT_EQ(all.cold_start_times().max(), 300ms);
  EXPECT_FALSE(ReplicaTrack::merged({}).joined());
}

TEST(Headers, OfATargetReplaceThoseOfTheSameName) {
  std::vector<std::pair<std::string, std::string>> headers{{"Accept", "a"}, {"X-One", "1"}};

  EXPECT_FALSE(set_header(headers, "accept", "b"));
  EXPECT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[1].second, "b");
  EXPECT_TRUE(add_header(headers, "Content-Length", "1"));
  EXPECT_TRUE(add_header(headers, "A", "b\r\nc: d"));
}

}  // namespace
}  // namespace sluice::loadgen
