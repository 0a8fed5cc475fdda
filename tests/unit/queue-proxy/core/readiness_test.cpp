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
  EXPECT_EQ(first.step, Step::connect);
  EXPECT_EQ(first.after, Duration{0});

  const auto second = run.attempted(false, kStart);
  EXPECT_EQ(second.step, Step::connect);
  EXPECT_EQ(second.after, Duration{2ms});
  EXPECT_EQ(run.attempted(true, kStart + 2ms).step, Step::passed);
}

TEST(ProbeRun, SlowsDownAfterTwoSecondsAndEndsAfterTen) {
  ProbeRun run{aggressive(ProbeSpec::Kind::tcp)};
  run.begin(kStart);

  EXPECT_EQ(run.attempted(false, kStart + 1999ms).after, Duration{2ms});
  EXPECT_EQ(run.attempted(false, kStart + 2s).after, Duration{50ms});
  EXPECT_EQ(run.attempted(false, kStart + 9999ms).step, Step::connect);
  EXPECT_EQ(run.attempted(false, kStart + 10s).step, Step::failed);
}

TEST(ProbeRun, IsReadyAtMostFiftyMillisecondsAfterThePortOpened) {
  for (const Duration opens : {Duration{0ms}, Duration{300ms}, Duration{3s}}) {
    ProbeRun run{aggressive(ProbeSpec::Kind::tcp)};
    TimePoint now = kStart;
    auto next = run.begin(now);

    while (next.step == Step::connect) {
      now += next.after;
      next = run.attempted(now >= kStart + opens, now);
    }

    EXPECT_EQ(next.step, Step::passed);
    EXPECT_LE(now - kStart - opens, Duration{50ms});
  }
}

TEST(ProbeRun, AsksOverHttpWhenThePortIsOpen) {
  ProbeRun run{aggressive(ProbeSpec::Kind::http)};

  EXPECT_EQ(run.begin(kStart).step, Step::connect);
  const auto get = run.attempted(true, kStart);
  EXPECT_EQ(get.step, Step::http);
  EXPECT_EQ(get.after, Duration{0});
  EXPECT_EQ(run.attempted(false, kStart).after, Duration{2ms});
  EXPECT_EQ(run.attempted(false, kStart).after, Duration{4ms});
  EXPECT_EQ(run.attempted(true, kStart).step, Step::passed);
}

TEST(ProbeRun, CountsSuccessesInARow) {
  ProbeRun run{aggressive(ProbeSpec::Kind::tcp, 3)};
  run.begin(kStart);

  EXPECT_EQ(run.attempted(true, kStart).step, Step::connect);
  EXPECT_EQ(run.attempted(true, kStart).step, Step::connect);
  EXPECT_EQ(run.attempted(false, kStart).step, Step::connect);
  EXPECT_EQ(run.attempted(true, kStart).step, Step::connect);
  EXPECT_EQ(run.attempted(true, kStart).step, Step::connect);
  EXPECT_EQ(run.attempted(true, kStart).step, Step::passed);
}

TEST(ProbeRun, TriesOnceWhenAPeriodIsGiven) {
  ProbeSpec spec = aggressive(ProbeSpec::Kind::http);
  spec.period = 10s;
  spec.timeout = 3s;
  ProbeRun run{spec};

  const auto first = run.begin(kStart);
  EXPECT_EQ(first.step, Step::http);
  EXPECT_EQ(first.timeout, Duration{3s});
  EXPECT_EQ(run.attempted(false, kStart).step, Step::failed);
  EXPECT_EQ(ProbeRun{spec}.attempted(true, kStart).step, Step::passed);
}

TEST(ProbeRun, NeverPassesWithoutAProbe) {
  EXPECT_EQ(ProbeRun{aggressive(ProbeSpec::Kind::none)}.begin(kStart).step, Step::failed);
}

}  // namespace
}  // namespace sluice::queue_proxy
