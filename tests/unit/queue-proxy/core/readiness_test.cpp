// Rows 57, 58 and 63 of queue-proxy.md 13, and 15.6.

#include "queue-proxy/core/readiness.h"

#include <gtest/gtest.h>

namespace sluice::queue_proxy {
namespace {

using namespace std::chrono_literals;
using Step = ProbeRun::Step;

constexpr TimePoint kStart{1'700'000'000s};

ProbeSpec aggressive(ProbeSpec::Kind kind, int threshold = 1) {
  ProbeSpec spec;
  spec.kind = kind;
  spec.port = 8080;
  spec.success_threshold = threshold;
  return spec;
}

TEST(ProbeRun, TriesAPortAtOnceAndSoonAgain) {
  ProbeRun run{aggressive(ProbeSpec::Kind::tcp)};

  const auto first = run.begin(kStart);
  EXPECT_EQ(first.step, Step::attempt);
  EXPECT_EQ(first.after, Duration{0});
  EXPECT_EQ(first.timeout, Duration{100ms});

  const auto second = run.attempted(Attempt::refused, kStart);
  EXPECT_EQ(second.step, Step::attempt);
  EXPECT_EQ(second.after, Duration{2ms});
  EXPECT_EQ(run.attempted(Attempt::passed, kStart + 2ms).step, Step::passed);
}

TEST(ProbeRun, SlowsDownAfterTwoSecondsAndEndsAfterTen) {
  for (const auto kind : {ProbeSpec::Kind::tcp, ProbeSpec::Kind::http, ProbeSpec::Kind::grpc}) {
    ProbeRun run{aggressive(kind)};
    EXPECT_EQ(run.begin(kStart).step, Step::attempt);

    EXPECT_EQ(run.attempted(Attempt::refused, kStart + 1999ms).after, Duration{2ms});
    EXPECT_EQ(run.attempted(Attempt::refused, kStart + 2s).after, Duration{50ms});
    EXPECT_EQ(run.attempted(Attempt::failed, kStart + 3s).after, Duration{50ms});
    EXPECT_EQ(run.attempted(Attempt::refused, kStart + 9999ms).step, Step::attempt);
    EXPECT_EQ(run.attempted(Attempt::refused, kStart + 10s).step, Step::failed);
  }
}

TEST(ProbeRun, IsReadyAtMostFiftyMillisecondsAfterThePortOpened) {
  for (const Duration opens : {Duration{0ms}, Duration{300ms}, Duration{3s}}) {
    ProbeRun run{aggressive(ProbeSpec::Kind::tcp)};
    TimePoint now = kStart;
    auto next = run.begin(now);

    while (next.step == Step::attempt) {
      now += next.after;
      const bool open = now >= kStart + opens;
      next = run.attempted(open ? Attempt::passed : Attempt::refused, now);
    }

    EXPECT_EQ(next.step, Step::passed);
    EXPECT_LE(now - kStart - opens, Duration{50ms});
  }
}

TEST(ProbeRun, WaitsLongerAfterEachFailureOfAContainer) {
  for (const auto kind : {ProbeSpec::Kind::http, ProbeSpec::Kind::https, ProbeSpec::Kind::grpc}) {
    ProbeRun run{aggressive(kind)};
    EXPECT_EQ(run.begin(kStart).after, Duration{0});
    EXPECT_EQ(run.attempted(Attempt::refused, kStart).after, Duration{2ms});

    for (const Duration gap : {2ms, 4ms, 8ms, 16ms, 32ms, 50ms, 50ms}) {
      EXPECT_EQ(run.attempted(Attempt::failed, kStart).after, gap);
    }
    EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::passed);
  }
}

TEST(ProbeRun, CountsSuccessesInARow) {
  ProbeRun run{aggressive(ProbeSpec::Kind::tcp, 3)};
  EXPECT_EQ(run.begin(kStart).step, Step::attempt);

  EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::failed, kStart).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::passed);
}

TEST(ProbeRun, NeedsOneSuccessMoreOnceItHasPassed) {
  ProbeRun run{aggressive(ProbeSpec::Kind::tcp, 2)};
  EXPECT_EQ(run.begin(kStart).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart).step, Step::passed);

  EXPECT_EQ(run.begin(kStart + 1s).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart + 1s).step, Step::passed);

  EXPECT_EQ(run.begin(kStart + 2s).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::failed, kStart + 2s).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart + 2s).step, Step::attempt);
  EXPECT_EQ(run.attempted(Attempt::passed, kStart + 2s).step, Step::passed);
}

TEST(ProbeRun, TriesOnceWhenAPeriodIsGiven) {
  ProbeSpec spec = aggressive(ProbeSpec::Kind::http);
  spec.period = 10s;
  spec.timeout = 3s;
  ProbeRun run{spec};

  const auto first = run.begin(kStart);
  EXPECT_EQ(first.step, Step::attempt);
  EXPECT_EQ(first.timeout, Duration{3s});
  EXPECT_EQ(run.attempted(Attempt::refused, kStart).step, Step::failed);
  EXPECT_EQ(run.failure("why"), "why");
  EXPECT_EQ(ProbeRun{spec}.attempted(Attempt::passed, kStart).step, Step::passed);
}

TEST(ProbeRun, BoundsAnAttemptWithoutATimeoutButRefusesAGrpcOne) {
  ProbeSpec spec = aggressive(ProbeSpec::Kind::tcp);
  spec.period = 10s;

  EXPECT_EQ(ProbeRun{spec}.begin(kStart).timeout, Duration{30s});
  spec.kind = ProbeSpec::Kind::grpc;
  EXPECT_EQ(ProbeRun{spec}.begin(kStart).step, Step::failed);
  spec.period = Duration{0};
  EXPECT_EQ(ProbeRun{spec}.begin(kStart).step, Step::attempt);
}

TEST(ProbeRun, CountsTheFailuresOfTheRunThatItReports) {
  ProbeRun run{aggressive(ProbeSpec::Kind::http)};
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run.begin(kStart).step, Step::attempt);
    EXPECT_EQ(run.attempted(Attempt::refused, kStart).step, Step::attempt);
    EXPECT_EQ(run.attempted(Attempt::failed, kStart + 10s).step, Step::failed);
    EXPECT_EQ(run.failure("status 500"), "aggressive probe error (failed 2 times): status 500");
  }
}

TEST(ProbeRun, NeverPassesWithoutAProbe) {
  ProbeRun run{aggressive(ProbeSpec::Kind::none)};

  EXPECT_EQ(run.begin(kStart).step, Step::failed);
  EXPECT_EQ(run.failure("no probe found"), "no probe found");
}

}  // namespace
}  // namespace sluice::queue_proxy
