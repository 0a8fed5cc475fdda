#include "common/loop/asio_loop.h"
#include "common/loop/manual_loop.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace sluice {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class AsioStage {
 public:
  Loop& loop() { return loop_; }

  /// Until nothing waits.
  void play() {
    io_.restart();
    io_.run();
  }

 private:
  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop loop_{io_, clock_};
};

class ManualStage {
 public:
  Loop& loop() { return loop_; }

  void play() { time_.run_for(seconds{1}); }

 private:
  ManualTime time_;
  ManualLoop loop_{time_};
};

// What a timer promises holds in every form of the loop.
template <class Stage>
class LoopForms : public ::testing::Test {
 protected:
  Loop& loop() { return stage_.loop(); }

  void play() { stage_.play(); }

  Timer::Action note(const std::string& word) {
    return [this, word] { said_ += word + " "; };
  }

  Stage stage_;
  std::string said_;
};

using Stages = ::testing::Types<AsioStage, ManualStage>;
TYPED_TEST_SUITE(LoopForms, Stages);

TYPED_TEST(LoopForms, PostedActionsRunInOrderAndNotWithinTheCall) {
  this->loop().post(this->note("first"));
  this->loop().post(this->note("second"));
  EXPECT_EQ(this->said_, "");

  this->play();

  EXPECT_EQ(this->said_, "first second ");
}

TYPED_TEST(LoopForms, TimersRunInTheOrderOfTheirTimesAndOnce) {
  const auto later = this->loop().timer();
  const auto sooner = this->loop().timer();
  later->at(this->loop().now() + milliseconds{20}, this->note("later"));
  sooner->after(microseconds{1}, this->note("sooner"));

  this->play();
  this->play();

  EXPECT_EQ(this->said_, "sooner later ");
}

TYPED_TEST(LoopForms, ATimerInThePastRunsNow) {
  const auto timer = this->loop().timer();
  timer->at(this->loop().now() - seconds{5}, this->note("late"));
  EXPECT_EQ(this->said_, "");

  this->play();

  EXPECT_EQ(this->said_, "late ");
}

TYPED_TEST(LoopForms, ATimerThatIsSetAgainRunsTheLastActionOnly) {
  const auto timer = this->loop().timer();
  timer->after(microseconds{1}, this->note("before"));
  timer->after(microseconds{2}, this->note("after"));

  this->play();

  EXPECT_EQ(this->said_, "after ");
}

TYPED_TEST(LoopForms, ATimerThatIsCancelledOrGoneRunsNothing) {
  const auto cancelled = this->loop().timer();
  auto gone = this->loop().timer();
  cancelled->after(microseconds{1}, this->note("cancelled"));
  gone->after(microseconds{1}, this->note("gone"));
  cancelled->cancel();
  gone.reset();

  this->play();

  EXPECT_EQ(this->said_, "");
}

// Goal: a timer whose time has come in the same turn as another's may still be cancelled by that.
TYPED_TEST(LoopForms, ATimerThatIsCancelledInTheTurnOfItsOwnTimeRunsNothing) {
  const auto first = this->loop().timer();
  const auto second = this->loop().timer();
  first->after(Duration{0}, [&] { second->cancel(); });
  second->after(Duration{0}, this->note("second"));

  this->play();

  EXPECT_EQ(this->said_, "");
}

TYPED_TEST(LoopForms, AnActionMaySetItsTimerAgainAndDestroyIt) {
  auto timer = this->loop().timer();
  timer->after(microseconds{1}, [&] {
    this->said_ += "once ";
    timer->after(microseconds{1}, [&] {
      this->said_ += "again ";
      timer.reset();
    });
  });

  this->play();

  EXPECT_EQ(this->said_, "once again ");
}

TEST(ManualLoop, RunsNothingBeforeItsTime) {
  ManualTime time;
  ManualLoop loop{time};
  const auto timer = loop.timer();
  bool ran = false;
  timer->after(seconds{2}, [&] { ran = true; });

  time.run_for(milliseconds{1'999});
  EXPECT_FALSE(ran);
  time.run_for(milliseconds{1});
  EXPECT_TRUE(ran);
}

TEST(ManualLoop, AClockThatJumpsAheadRunsOnlyTimersOfAnAbsoluteTime) {
  ManualTime time;
  ManualLoop loop{time};
  ManualLoop other{time};
  const auto passed = loop.timer();
  const auto to_come = loop.timer();
  const auto relative = loop.timer();
  std::string ran;
  passed->at(loop.now() + seconds{30}, [&] { ran += "passed "; });
  to_come->at(loop.now() + seconds{61}, [&] { ran += "to come "; });
  relative->after(seconds{2}, [&] { ran += "relative "; });

  loop.step(seconds{60});

  EXPECT_EQ(loop.now(), other.now() + seconds{60});
  EXPECT_EQ(ran, "passed ");
  time.run_for(seconds{61});
  EXPECT_EQ(ran, "passed relative to come ");
}

}  // namespace
}  // namespace sluice
