#include "autoscaler/core/decision/collector.h"
#include "autoscaler/core/decision/decider.h"
#include "autoscaler/core/decision/scale_to_zero.h"
#include "common/scaling/annotations.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>

// Goal: the example in autoscaler/README.md is what the code computes.
// Method: play it, print each evaluation as the README prints it, and look for the line there.
namespace sluice::autoscaler {
namespace {

double load_in(int second) {
  const std::map<int, double> busy{{11, 40}, {12, 44}, {13, 21}, {14, 21}};
  const auto found = busy.find(second);
  if (found != busy.end()) return found->second;
  return second <= 10 ? 12 : 7;
}

class Example {
 public:
  Example()
      : spec_(resolve({},
                      {{"autoscaling.knative.dev/window", "10s"},
                       {"autoscaling.knative.dev/panic-window-percentage", "20"},
                       {"autoscaling.knative.dev/target-burst-capacity", "15"},
                       {"autoscaling.knative.dev/scale-down-delay", "6s"},
                       {"autoscaling.knative.dev/max-scale", "5"}},
                      /*container_concurrency=*/10, Reachability::reachable)),
        collector_(spec_.decider),
        decider_(spec_.decider, 0, at(0)) {}

  std::string tick(int second) {
    for (; told_ < second; ++told_) {
      collector_.record({.average_concurrency = load_in(told_ + 1)}, at(told_ + 1));
    }
    const std::int32_t ready = second <= 12 ? 2 : 5;
    const auto seen = collector_.averages(spec_.decider.metric, at(second));
    const Decision got =
        decider_.decide({.stable = seen.stable, .panic = seen.panic, .ready = ready}, at(second));
    const std::int32_t want = bounded_scale(got.desired, spec_.bounds);
    mode_ = route_mode(want, got.excess_burst_capacity, mode_, spec_.burst_capacity_hysteresis);

    std::ostringstream text;
    const auto column = [&text](int width) -> std::ostream& { return text << std::setw(width); };
    column(3) << second;
    column(6) << ready;
    column(7) << seen.stable;
    column(5) << seen.panic;
    column(4) << got.wanted_stable;
    column(4) << got.wanted_panic;
    column(9) << std::to_string(got.down_limit) + ".." + std::to_string(got.up_limit);
    column(8) << name(got.mode);
    column(9) << got.desired;
    column(6) << want;
    column(6) << got.excess_burst_capacity << "  " << name(mode_);
    return text.str();
  }

 private:
  ScalingSpec spec_;
  Collector collector_;
  Decider decider_;
  RouteMode mode_ = RouteMode::proxy;
  int told_ = 0;
};

std::string readme() {
  const std::ifstream file{AUTOSCALER_README};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(WorkedExample, OfTheReadmeMatchesTheComputedDecisions) {
  const std::string page = readme();
  ASSERT_FALSE(page.empty()) << AUTOSCALER_README;
  Example example;

  for (int second = 10; second <= 28; second += 2) {
    const std::string line = example.tick(second);
    const bool shown = second <= 14 || second >= 22;
    if (!shown) continue;
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace sluice::autoscaler
