#include "autoscaler/core/decision/collector.h"
#include "autoscaler/core/decision/decider.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

// Goal: what the decider answers when its windows are fed by a collector, second by second.
// Method: a constant load per second, evaluations at chosen instants, the answers as one line each.
namespace sluice::autoscaler {
namespace {

class Measured {
 public:
  explicit Measured(const DeciderSpec& spec, std::int32_t ready)
      : spec_(spec), collector_(spec), decider_(spec, 0, at(0)), ready_(ready) {}

  // `concurrency` requests in flight during every second of [from, to].
  Measured& load(int from, int to, double concurrency) {
    for (int second = from; second <= to; ++second) {
      collector_.record({.average_concurrency = concurrency}, at(second));
    }
    return *this;
  }

  Measured& ready(std::int32_t pods) {
    ready_ = pods;
    return *this;
  }

  std::string tick(double second) {
    const auto seen = collector_.averages(spec_.metric, at(second));
    const Decision got = decider_.decide({.stable = seen.stable,
                                          .panic = seen.panic,
                                          .has_data = !seen.empty || !spec_.has_scrape_target,
                                          .ready = ready_},
                                         at(second));
    std::ostringstream text;
    text << name(got.mode) << ' ';
    if (!got.valid) return text.str() + "invalid";
    text << got.desired << " of " << seen.stable << ", " << seen.panic;
    return text.str();
  }

 private:
  DeciderSpec spec_;
  Collector collector_;
  Decider decider_;
  std::int32_t ready_;
};

TEST(MeasuredDecider, DataThatStopsHoldsAPlateauThenFallsOnceAndPanicsOnItsReturn) {
  Measured revision{target(10), 18};
  revision.load(1, 100, 180);

  EXPECT_EQ(revision.tick(100), "stable 18 of 180, 180");
  EXPECT_EQ(revision.tick(104), "stable 18 of 180, 180");
  EXPECT_EQ(revision.tick(159), "stable 18 of 180, 0") << "a second before the window has passed";
  EXPECT_EQ(revision.tick(160), "stable 9 of 0, 0") << "half of the ready pods, by the down rate";
  EXPECT_EQ(revision.tick(162), "stable invalid") << "no data from then on";

  revision.ready(9).load(164, 164, 180);
  EXPECT_EQ(revision.tick(164), "panic 18 of 180, 180");
}

TEST(MeasuredDecider, AWindowAndASecondWithoutStatsGiveNoDecisionWhenScraping) {
  Measured revision{target(10), 1};
  revision.load(0, 0, 5);

  EXPECT_EQ(revision.tick(60), "stable 0 of 0, 0");
  EXPECT_EQ(revision.tick(61), "stable invalid");
}

TEST(MeasuredDecider, WithoutScrapeTargetNoDataIsNoLoad) {
  DeciderSpec spec = target(10);
  spec.target_burst_capacity = -1;
  spec.has_scrape_target = false;

  EXPECT_EQ(Measured(spec, 1).tick(0), "stable 0 of 0, 0");
}

TEST(MeasuredDecider, LoadBelowHalfAMillionthNeedsNoPod) {
  Measured revision{target(0.01), 1};

  EXPECT_EQ(revision.load(0, 0, 0.0000004).tick(0), "stable 0 of 0, 0");
  EXPECT_EQ(revision.load(0, 0, 0.0000002).tick(0), "stable 1 of 1e-06, 1e-06");
}

TEST(MeasuredDecider, NegativeStatsAreComputedUnchanged) {
  Measured revision{target(10), 2};

  EXPECT_EQ(revision.load(0, 3, -40).tick(3), "stable 1 of -40, -40");
}

}  // namespace
}  // namespace sluice::autoscaler
