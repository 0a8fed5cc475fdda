#include "load/core/tally.h"

#include <gtest/gtest.h>

#include "load/core/load_plan.h"
#include <algorithm>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

// A server of one place that takes 1 ms a request, but begins nothing from second 4 to second 6.
class StallingServer {
 public:
  Duration answer_at(Duration asked) {
    Duration start = std::max(asked, free_at_);
    if (start >= 4s && start < 6s) start = 6s;
    free_at_ = start + 1ms;
    return free_at_;
  }

 private:
  Duration free_at_{0};
};

// Goal: a stall counts for every request that fell due in it (coordinated omission).
// Method: the same stalling server, in virtual time, once behind one connection that serves an open
// loop's schedule as fast as it can, once in a closed loop.
TEST(Tally, ChargesAStallToEveryRequestThatFellDueInIt) {
  LoadPlan plan;
  plan.phases[0].segments = {{100, 10s}};
  plan.arrivals = Arrivals::uniform;
  Pacer pacer{plan};
  StallingServer server;
  Tally open{0s};
  Duration now{0};

  while (pacer.next()) {
    now = std::max(now, pacer.next()->at);
    const Duration planned = pacer.take().at;
    open.sent(planned, now);
    const Duration done = server.answer_at(now);
    open.finished({planned, now, done, Ending::answered, 200, false, 0});
    now = done;
  }

  // 2 of 10 seconds fell due while nothing was answered, so a fifth of the requests waited, and one
  // in ten a second and more.
  ASSERT_EQ(open.sent(), 1000U);
  EXPECT_LT(open.latency().percentile(75), 5ms);
  EXPECT_GT(open.latency().percentile(85), 100ms);
  EXPECT_GT(open.latency().percentile(92), 1s);
  EXPECT_GT(open.latency().percentile(99), 1700ms);
  // Measured from sending, the same run shows one slow request in a thousand.
  EXPECT_LT(open.service().percentile(99.8), 2ms);
  EXPECT_GT(open.lag().percentile(99), 1s);
}

TEST(Tally, HidesTheStallInAClosedLoopAsClosedLoopsDo) {
  StallingServer server;
  Tally closed{0s};

  for (Duration now{0}; now < 10s;) {
    closed.sent(now, now);
    const Duration done = server.answer_at(now);
    closed.finished({now, now, done, Ending::answered, 200, false, 0});
    now = done;
  }

  EXPECT_LT(closed.latency().percentile(99.9), 1100us);
  EXPECT_GT(closed.latency().max(), 1s);
}

TEST(Tally, CountsEveryEndingOnce) {
  Tally tally{0s};
  for (int i = 0; i < 8; ++i) tally.sent(1ms, 2ms);
  for (const Ending ending :
       {Ending::connect_refused, Ending::reset, Ending::timeout, Ending::invalid}) {
    tally.finished({1ms, 2ms, 3ms, ending, 0, false, 0});
  }
  tally.finished({1ms, 2ms, 3ms, Ending::answered, 200, false, 10});
  tally.finished({1ms, 2ms, 3ms, Ending::answered, 503, true, 5});
  tally.finished({1ms, 2ms, 3ms, Ending::answered, 404, false, 5});
  tally.unsent(2);

  EXPECT_EQ(tally.sent(), 8U);
  EXPECT_EQ(tally.ended(Ending::answered), 3U);
  EXPECT_EQ(tally.refused(), 1U);
  EXPECT_EQ(tally.server_errors(), 1U);
  EXPECT_EQ(tally.cut(), 1U);
  EXPECT_EQ(tally.errors(), 4U + 1U + 2U);
  EXPECT_DOUBLE_EQ(tally.error_rate(), 0.7);
  EXPECT_EQ(tally.bytes(), 20U);
  EXPECT_EQ(tally.latency().count(), 4U) << "answers and timeouts have a latency";
  EXPECT_EQ(tally.statuses().at(404), 1U);
}

TEST(Tally, KeepsTheWarmupOutOfEveryFigure) {
  Tally tally{1s};
  tally.sent(500ms, 500ms);
  tally.finished({500ms, 500ms, 1500ms, Ending::timeout, 0, false, 0});
  tally.sent(1s, 1s);
  tally.finished({1s, 1s, 1010ms, Ending::answered, 200, false, 0});

  EXPECT_EQ(tally.warmup_sent(), 1U);
  EXPECT_EQ(tally.sent(), 1U);
  EXPECT_EQ(tally.errors(), 0U);
  EXPECT_EQ(tally.latency().max(), 10ms);
}

// Goal: the kinds of errors and the answers add up to what was planned.
TEST(Tally, CountsEachKindOfErrorByItself) {
  Tally tally{0s};
  for (const Ending ending : kEndings) {
    tally.sent(1ms, 2ms);
    tally.finished({1ms, 2ms, 3ms, ending, 200, false, 0});
  }
  tally.unsent(1);

  std::uint64_t sum = tally.unsent();
  for (const Ending ending : kEndings) {
    EXPECT_EQ(tally.ended(ending), 1U) << name_of(ending);
    sum += tally.ended(ending);
  }
  EXPECT_EQ(sum, tally.sent() + tally.unsent());
  EXPECT_EQ(tally.errors(), sum - 1);
  EXPECT_EQ(tally.unconnected(), 4U);
  EXPECT_EQ(tally.lost(), 6U) << "sent, and no whole answer came";
  EXPECT_EQ(tally.timeouts(), 2U);
  EXPECT_EQ(tally.latency().count(), 4U)
      << "answers, failed calls, and timeouts with the time they were given";
}

}  // namespace
}  // namespace sluice::loadgen
