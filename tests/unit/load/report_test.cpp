#include "load/core/report.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

void answer(Tally& tally, int count, Duration latency, Duration lag = 400us) {
  for (int i = 0; i < count; ++i) {
    tally.sent(0s, lag);
    tally.finished({0s, lag, latency, Ending::answered, 200, false, 0});
  }
}

Report demo() {
  Report report;
  report.plan.phases[0].segments = {{200, 60s}};
  report.plan.duration = 60s;
  report.length = 60s;
  answer(report.results.whole, 6002, 3900us);
  answer(report.results.whole, 4801, 6100us);
  answer(report.results.whole, 1080, 14'200us);
  answer(report.results.whole, 108, 61ms);
  answer(report.results.whole, 12, 66'300us);
  report.track.join("app");
  report.track.begin();
  for (const char* id : {"1", "2", "3", "4", "5", "6", "7"}) report.track.replica(1s, id, true);
  for (const char* id : {"1", "2", "3", "4"}) report.track.replica(70s, id, false);
  report.track.cold_start(63ms, 63ms, "1");
  report.track.decision(1s, true);
  report.track.decision(61s, false);
  return report;
}

// The layout is that of one-machine.md 9.
TEST(ReportText, LooksAsDesigned) {
  const Report report = demo();

  EXPECT_EQ(report_text(report, judge(report)),
            "open loop, 200/s for 60 s, poisson, seed 1                    "
            "12 003 sent, 12 003 answered, generator on time (lag p99 0.4 ms)\n"
            "  latency from planned send   p50 3.9  p90 6.1  p99 14.2  p99.9 61.0  max 66.3 ms\n"
            "  rate                        200.1/s sent, 200.1/s answered\n"
            "  status                      200: 12 003    errors 0    timeouts 0\n"
            "  scaling                     replicas 0 -> 7 -> 3, 1 cold start (63 ms), panic 1x "
            "for 60 s\n"
            "  histogram                   <= 5 ms         6 002  "
            "########################################\n"
            "                              <= 10 ms        4 801  "
            "################################\n"
            "                              <= 20 ms        1 080  ########\n"
            "                              <= 50 ms            0\n"
            "                              <= 100 ms         120  #\n");
}

TEST(ReportText, WarnsThatTheGeneratorWasLate) {
  Report report;
  report.plan.phases[0].segments = {{50, 10s}};
  report.plan.duration = 10s;
  report.length = 20s;
  answer(report.results.whole, 400, 300ms, 250ms);
  report.results.whole.unsent(100);
  report.cap_waits = 7;
  report.connections = 2;

  EXPECT_EQ(
      report_text(report, {}),
      "open loop, 50/s for 10 s, poisson, seed 1                     "
      "400 sent, 400 answered, ERRORS 20 %, generator LATE: lag p99 250.0 ms, max 250.0 ms\n"
      "  latency from planned send   p50 300.0  p90 300.0  p99 300.0  p99.9 300.0  max 300.0 ms\n"
      "  rate                        40/s sent, 40/s answered\n"
      "  status                      200: 400    errors 100 (not sent 100)    timeouts 0\n"
      "  LATE                        400 of 500 requests sent, up to 250.0 ms after their "
      "time; all 2 allowed connections were busy: the server is too slow\n"
      "  service time                p50 50.0  p90 50.0  p99 50.0  p99.9 50.0  max 50.0 ms, from "
      "actual send\n"
      "  histogram                   <= 500 ms         400  "
      "########################################\n");
}

TEST(AchievedRate, OfALateGeneratorLeavesOutTheWaitForTheLastAnswers) {
  Report report;
  report.plan.phases[0].segments = {{50, 10s}};
  report.plan.count = 20;
  report.length = 3s;
  for (int i = 1; i <= 20; ++i) report.results.whole.sent(i * 20ms, i * 20ms + 15ms);
  report.results.whole.finished({20ms, 35ms, 36ms, Ending::answered, 200});
  EXPECT_TRUE(is_late(report));
  EXPECT_NEAR(achieved_rate(report), 20 / 0.415, 0.01);
}

TEST(ReportText, NamesAClosedLoop) {
  Report report;
  report.plan.loop = Loop::closed;
  report.plan.connections = 8;
  report.plan.duration = 10s;
  report.length = 10s;
  answer(report.results.whole, 5, 1ms, 0s);
  report.results.whole.sent(0s, 0s);
  report.results.whole.finished({0s, 0s, 2ms, Ending::answered, 503, true, 0});
  report.results.whole.sent(0s, 0s);
  report.results.whole.finished({0s, 0s, 2ms, Ending::reset, 0, false, 0});
  report.errors.add(1500ms, "receive: End of file");

  EXPECT_EQ(
      report_text(report, {}),
      "closed loop, 8 connections for 10 s                           7 sent, 6 answered, ERRORS "
      "28.57 %\n"
      "  latency from send           p50 1.0  p90 2.0  p99 2.0  p99.9 2.0  max 2.0 ms\n"
      "  rate                        0.7/s sent, 0.6/s answered\n"
      "  status                      200: 5  503: 1    refused 1    errors 2 (reset 1, 5xx 1)    "
      "timeouts 0\n"
      "  note                        a closed loop sends a slow server fewer requests: this "
      "latency omits those waits\n"
      "  first error                 receive: End of file (at 1.5 s)\n"
      "  histogram                   <= 1 ms             5  "
      "########################################\n"
      "                              <= 2 ms             1  ########\n");
}

// A server that stands still for a moment makes requests wait for a connection; once they are sent,
// the rate was kept.
TEST(ReportText, CallsAGeneratorThatMadeUpForAStallNotLate) {
  Report report;
  report.plan.phases[0].segments = {{100, 10s}};
  report.plan.duration = 10s;
  report.length = 10s;
  for (int i = 1; i <= 1000; ++i) {
    const Duration planned = i * 10ms;
    const Duration lag = i > 500 && i <= 550 ? (550 - i) * 10ms : 0ms;
    report.results.whole.sent(planned, planned + lag);
    report.results.whole.finished(
        {planned, planned + lag, planned + lag + 1ms, Ending::answered, 200});
  }

  EXPECT_FALSE(is_late(report));
  EXPECT_NE(report_text(report, {}).find("generator kept the rate (lag p99 39"), std::string::npos);
  EXPECT_NE(report_text(report, {}).find("\n  lag    "), std::string::npos);
  EXPECT_NE(report_text(report, {}).find("\n  service time    "), std::string::npos);

  report.results.whole.unsent(1);
  EXPECT_TRUE(is_late(report));
}

TEST(ReportText, DoesNotBlameTheGeneratorWhenNothingWasAnswered) {
  Report report;
  report.plan.phases[0].segments = {{50, 10s}};
  for (int i = 0; i < 10; ++i) {
    report.results.whole.sent(0s, 1s);
    report.results.whole.finished({0s, 1s, 2s, Ending::connect_refused});
  }
  report.results.whole.unsent(5);

  EXPECT_FALSE(is_late(report));
  EXPECT_EQ(report_text(report, {}).find("LATE"), std::string::npos);
  EXPECT_NE(report_text(report, {}).find("10 sent, 0 answered, ERRORS 100 %\n"), std::string::npos);
}

TEST(ReportText, ShowsFailedConditionsBeforeTheFiguresAndPassedOnesAfter) {
  Report report = demo();
  report.plan.conditions = {*parse_expression("p99 > 1s"), *parse_expression("p50 > 1ms")};
  const std::string text = report_text(report, judge(report));

  const std::size_t failed = text.find("  FAILED                      fail if p50 > 1ms: 3.9 ms");
  const std::size_t passed = text.find("  passed                      fail if p99 > 1s: 14.2 ms");
  EXPECT_LT(failed, text.find("  latency from"));
  EXPECT_GT(passed, text.find("  histogram"));
  EXPECT_NE(passed, std::string::npos);
}

TEST(ReportText, JoinsTheLowestRowsOfALongHistogram) {
  Report report;
  for (const Duration latency : {Duration{50us}, Duration{400us}, Duration{3ms}, Duration{30ms},
                                 Duration{300ms}, Duration{3s}, Duration{30s}}) {
    answer(report.results.whole, 1, latency, 0s);
  }
  const std::string text = report_text(report, {});

  EXPECT_NE(text.find("  histogram                   <= 10 ms            3  ####"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("<= 50 s             1  ##############\n"), std::string::npos) << text;
}

TEST(LateCause, IsTheFirstThatExplainsIt) {
  Report report = demo();
  EXPECT_EQ(late_cause(report), std::nullopt) << "it is not late";
  report.results.whole.unsent(1);
  EXPECT_EQ(late_cause(report), LateCause::server);

  report.results.whole.sent(1s, 1s);
  report.results.whole.finished({1s, 1s, 2s, Ending::no_local_port});
  EXPECT_EQ(late_cause(report), LateCause::no_local_port);
  report.cap_waits = 1;
  EXPECT_EQ(late_cause(report), LateCause::no_connection);
  report.generator.tick({.at = 0s, .cpu = 0s, .wall = 0s});
  report.generator.tick({.at = 1s, .cpu = 950ms, .wall = 1s});
  EXPECT_EQ(late_cause(report), LateCause::own_core);

  EXPECT_NE(report_text(report, {}).find("the generator used up its core (95 %)"),
            std::string::npos);
}

TEST(ReportText, HasTheGapsOfItsMachine) {
  Report report = demo();
  for (const Duration at : {0ms, 20ms, 103ms, 300ms}) {
    report.generator.tick({.at = at, .cpu = 0s, .wall = at});
  }

  EXPECT_NE(report_text(report, {})
                .find("did not run the generator 2 times, for up to 177.0 ms (at 103 ms)"),
            std::string::npos)
      << report_text(report, {});
}

TEST(Progress, HasTimeCountsAndLatencyInOneLine) {
  LoadPlan plan;
  plan.warmup = 2s;
  plan.duration = 58s;
  Tally tally{2s};
  tally.sent(1s, 1s);
  EXPECT_EQ(progress_text(plan, tally, 1500ms), "1 s of 60 s  warm-up, 1 sent");

  for (const Duration at : {3s, 4s, 5s}) tally.sent(at, at);
  tally.finished({3s, 3s, 3012ms, Ending::answered, 200});
  tally.finished({4s, 4s, 4001ms, Ending::reset});
  EXPECT_EQ(progress_text(plan, tally, 6s),
            "6 s of 60 s  3 sent  1 answered  1 error  p99 12.0 ms  1 in flight");
}

std::string verdict_line(const Report& from, const char* expression) {
  Report report = from;
  report.plan.conditions = {*parse_expression(expression)};
  const auto verdicts = judge(report);
  return verdicts[0].shown + (!verdicts[0].actual  ? " unknown"
                              : verdicts[0].failed ? " failed"
                                                   : " passed");
}

TEST(Judge, ComparesEveryFigure) {
  const Report report = demo();

  EXPECT_EQ(verdict_line(report, "p99 > 14ms"), "14.2 ms failed");
  EXPECT_EQ(verdict_line(report, "max > 70ms"), "66.3 ms passed");
  EXPECT_EQ(verdict_line(report, "errors > 0"), "0 passed");
  EXPECT_EQ(verdict_line(report, "error_rate >= 0%"), "0 % failed");
  EXPECT_EQ(verdict_line(report, "cold_start.p95 > 60ms"), "63 ms failed");
  EXPECT_EQ(verdict_line(report, "replicas.max > 6"), "7 failed");
  EXPECT_EQ(verdict_line(report, "mean > 5ms"), "6.3 ms failed");
  EXPECT_EQ(verdict_line(report, "service.p50 > 3ms"), "3.5 ms failed");
  EXPECT_EQ(verdict_line(report, "lag.p99 > 1ms"), "0.4 ms passed");
  EXPECT_EQ(verdict_line(report, "rate < 200"), "200.05/s passed");
  EXPECT_EQ(verdict_line(report, "cold_start.count > 0"), "1 failed");
  EXPECT_EQ(verdict_line(report, "replicas.seconds > 413"), "413 passed");
  EXPECT_EQ(verdict_line(report, "panics == 1"), "1 failed");
  EXPECT_EQ(verdict_line(report, "generator != on_time"), "on_time passed");
}

// A service that is misspelt answers everything, with 404.
TEST(Judge, SeesAnswersThatAreNoErrorsToTheFrontDoor) {
  Report report;
  answer(report.results.whole, 2, 1ms);
  for (int i = 0; i < 3; ++i) {
    report.results.whole.sent(0s, 0s);
    report.results.whole.finished({0s, 0s, 1ms, Ending::answered, 404, true, 0});
  }
  report.results.whole.sent(0s, 0s);
  report.results.whole.finished({0s, 0s, 1ms, Ending::reset});

  EXPECT_EQ(verdict_line(report, "errors > 1"), "1 passed");
  EXPECT_EQ(verdict_line(report, "refused > 0"), "3 failed");
  EXPECT_EQ(verdict_line(report, "non_2xx > 2"), "3 failed");
  EXPECT_EQ(verdict_line(report, "status.404 >= 3"), "3 failed");
  EXPECT_EQ(verdict_line(report, "status.503 > 0"), "0 passed");
  EXPECT_EQ(verdict_line(report, "lost > 0"), "1 failed");
}

TEST(Judge, TreatsATimeToZeroThatWasNotReachedAsInfinite) {
  Report report = demo();
  EXPECT_EQ(verdict_line(report, "time_to_zero > 75s"), "not reached failed");

  for (const char* id : {"5", "6", "7"}) report.track.replica(90s, id, false);

  EXPECT_EQ(verdict_line(report, "time_to_zero > 89s"), "89.9 s failed");
  EXPECT_EQ(verdict_line(report, "time_to_zero > 90s"), "89.9 s passed");
}

TEST(Judge, DoesNotPassUnknownFigures) {
  EXPECT_EQ(verdict_line(Report{}, "p99 > 1s"), "not known unknown");
  EXPECT_EQ(verdict_line(Report{}, "replicas.max > 1"), "not known unknown");
}

std::string printed(const ReplicaTrack& track) {
  std::string text;
  for (const auto& point : track.points()) {
    text +=
        std::to_string(point.at.count() / 1'000'000) + "ms:" + std::to_string(point.ready) + " ";
  }
  return text;
}

TEST(ReplicaTrack, StartsWithTheReplicasThatAreReadyWhenTheRunBegins) {
  ReplicaTrack track;
  track.join("app");
  track.replica(0s, "a", true);
  track.decision(0s, true);
  track.cold_start(0s, 5ms, "a");

  track.begin();
  track.replica(10ms, "b", true);
  track.replica(10ms, "b", true);
  track.replica(20ms, "a", false);
  track.replica(20ms, "never-seen", false);
  track.decision(30ms, false);
  track.finish(50ms);

  EXPECT_EQ(printed(track), "0ms:1 10ms:2 20ms:1 ");
  EXPECT_EQ(track.cold_start_times().count(), 0U);
  ASSERT_EQ(track.panics().size(), 1U);
  EXPECT_EQ(track.panics()[0].to, 30ms);
  EXPECT_EQ(track.ready_at(15ms), 2U);
}

TEST(ReplicaTrack, EndsAPanicThatLastsWithTheRun) {
  ReplicaTrack track;
  track.begin();
  track.decision(1s, true);
  track.decision(2s, true);
  track.finish(5s);

  ASSERT_EQ(track.panics().size(), 1U);
  EXPECT_EQ(track.panics()[0].to - track.panics()[0].from, 4s);
}

}  // namespace
}  // namespace sluice::loadgen
