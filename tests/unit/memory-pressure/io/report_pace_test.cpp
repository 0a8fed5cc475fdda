#include <gtest/gtest.h>

#include "memory-pressure/io/report_stream.h"

namespace sluice::node_agent {
namespace {

using proto::NodePressure;
using proto::NodeReport;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1'000}};

NodeReport calm() {
  NodeReport report;
  report.pressure = NodePressure::ok;
  report.capacity_bytes = 1'000;
  report.admit_bytes = 500;
  return report;
}

class Pace : public ::testing::Test {
 protected:
  Pace() { pace.sent(calm(), kStart); }

  bool due(const NodeReport& next, Duration later) const {
    return pace.due(next) <= kStart + later;
  }

  ReportPace pace{7};
};

TEST_F(Pace, TheFirstReportOfAStreamIsSentAtOnce) {
  EXPECT_LE(ReportPace{7}.due(calm()), kStart);
}

TEST_F(Pace, AnUnchangedReportWaitsForTheIntervalGiveOrTakeATenth) {
  EXPECT_FALSE(due(calm(), milliseconds{8'999}));
  EXPECT_TRUE(due(calm(), milliseconds{11'001}));
}

TEST_F(Pace, AChangeOfPressureIsReportedAtMostFourTimesASecond) {
  NodeReport next = calm();
  next.pressure = NodePressure::high;

  EXPECT_FALSE(due(next, milliseconds{249}));
  EXPECT_TRUE(due(next, milliseconds{250}));
}

TEST_F(Pace, AThrottledContainerIsReportedSoon) {
  NodeReport next = calm();
  next.throttled.push_back({});

  EXPECT_TRUE(due(next, milliseconds{250}));
}

TEST_F(Pace, TheGateIsReportedWhenItMovesByMoreThanATenthOfCapacity) {
  NodeReport next = calm();
  next.admit_bytes = 400;
  EXPECT_FALSE(due(next, seconds{5}));
  next.admit_bytes = 399;
  EXPECT_TRUE(due(next, seconds{5}));
}

TEST_F(Pace, TheIntervalIsSetByTheAutoscaler) {
  pace.set_interval(seconds{1});
  pace.sent(calm(), kStart);

  EXPECT_FALSE(due(calm(), milliseconds{899}));
  EXPECT_TRUE(due(calm(), milliseconds{1'101}));
}

}  // namespace
}  // namespace sluice::node_agent
