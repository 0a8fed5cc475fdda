#include "common/log/failure_log.h"

#include <gtest/gtest.h>

namespace sluice::log {
namespace {

using namespace std::chrono_literals;

class FailureLogTest : public testing::Test {
 protected:
  // How many of `count` failures at `now` get a line; `written` has what the log itself wrote
  // meanwhile.
  int admitted(int count, TimePoint now) {
    testing::internal::CaptureStderr();
    int lines = 0;
    for (int i = 0; i < count; ++i) lines += failures_.admits(now) ? 1 : 0;
    written = testing::internal::GetCapturedStderr();
    return lines;
  }

  std::string written;

 private:
  Logger log_{"program"};
  FailureLog failures_{log_};
};

TEST_F(FailureLogTest, TenFailuresOfASecondGetALineAndTheNextSecondCountsTheRest) {
  const TimePoint start{1000s};
  EXPECT_EQ(admitted(25, start), 10);
  EXPECT_EQ(admitted(1, start + 999ms), 0);
  EXPECT_EQ(written, "");
  EXPECT_EQ(admitted(1, start + 1s), 1);
  EXPECT_NE(written.find("more requests failed than were logged"), std::string::npos) << written;
  EXPECT_NE(written.find("16"), std::string::npos) << written;
}

TEST_F(FailureLogTest, ASecondWithoutTooManyIsNotMentioned) {
  const TimePoint start{1000s};
  EXPECT_EQ(admitted(10, start), 10);
  EXPECT_EQ(admitted(1, start + 5s), 1);
  EXPECT_EQ(written, "");
}

TEST_F(FailureLogTest, AClockSetBackBeginsASecond) {
  const TimePoint start{1000s};
  EXPECT_EQ(admitted(11, start), 10);
  EXPECT_EQ(admitted(1, start - 1h), 1);
}

}  // namespace
}  // namespace sluice::log
