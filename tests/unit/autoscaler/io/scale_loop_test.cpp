#include "autoscaler/io/scale_loop.h"

#include "common/loop/manual_loop.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class ScaleLoopTest : public ::testing::Test, public ScaledRevision {
 protected:
  ScaleLoopTest() {
    EXPECT_TRUE(
        loop_.add({"shop", "web"}, {.scaling = {}, .revision = {}, .replicas = {}}, 0, *this)
            .has_value());
  }

  void on_due(bool evaluate) override { (evaluate ? evaluations_ : scrapes_) += 1; }

  void on_wanted() override {}

  ManualTime time_;
  ManualLoop clock_{time_};
  ScaleLoop loop_{clock_};
  int evaluations_ = 0;
  int scrapes_ = 0;
};

TEST_F(ScaleLoopTest, ARevisionIsVisitedEachSecondAndEvaluatedEveryOtherTime) {
  time_.run_for(seconds{10});
  EXPECT_EQ(evaluations_, 5);
  EXPECT_EQ(scrapes_, 5);
}

TEST_F(ScaleLoopTest, AClockThatStepsBackOrAheadStopsNoRevision) {
  clock_.step(-hours{1});
  time_.run_for(seconds{11});
  EXPECT_GE(evaluations_, 5);

  clock_.step(hours{2});
  evaluations_ = 0;
  time_.run_for(seconds{11});
  EXPECT_GE(evaluations_, 5);
}

}  // namespace
}  // namespace sluice::autoscaler
