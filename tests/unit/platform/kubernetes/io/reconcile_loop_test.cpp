#include "platform/kubernetes/io/reconcile_loop.h"

#include "common/loop/manual_loop.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ReconcileLoopTest : public ::testing::Test {
 protected:
  void pass(Duration time) { time_.run_for(time); }

  static RevisionId id(int number) { return {"shop", "r" + std::to_string(number)}; }

  ManualTime time_;
  ManualLoop manual_{time_};
  std::vector<std::string> done_;
  std::function<void()> end_ = [] {};
  ReconcileLoop loop_{
      manual_,
      {.confirm = [this] { done_.emplace_back("confirm"); },
       .look = [this](const RevisionId& revision) { done_.push_back("look " + revision.name); },
       .end = [this] { end_(); }}};
};

TEST_F(ReconcileLoopTest, ATurnConfirmsBeforeItReconciles) {
  loop_.add(id(1));
  loop_.add(id(2));
  EXPECT_TRUE(done_.empty()) << "in a turn of its own";
  pass(milliseconds{1});
  EXPECT_EQ(done_, (std::vector<std::string>{"confirm", "look r1", "look r2"}));
  EXPECT_EQ(loop_.waiting(), 0U);
}

TEST_F(ReconcileLoopTest, NoRevisionIsReconciledBeforeItIsDue) {
  loop_.add(id(1), manual_.now() + seconds{5});
  loop_.add(id(2), manual_.now() + seconds{1});
  pass(seconds{2});
  EXPECT_EQ(done_, (std::vector<std::string>{"confirm", "look r2"}));
  pass(seconds{4});
  EXPECT_EQ(done_.back(), "look r1");
}

TEST_F(ReconcileLoopTest, ManyRevisionsAreSpreadOverTurnsThatEachConfirm) {
  const auto count = static_cast<int>(ReconcileLoop::kTurn) + 1;
  for (int i = 0; i < count; ++i) loop_.add(id(i));
  pass(milliseconds{1});
  ASSERT_EQ(done_.size(), ReconcileLoop::kTurn + 3);
  EXPECT_EQ(done_[ReconcileLoop::kTurn + 1], "confirm");
}

TEST_F(ReconcileLoopTest, AFailureIsReconciledAgainAfterItsWait) {
  loop_.failed(id(1));
  pass(WorkQueue::kWaitLeast - milliseconds{1});
  EXPECT_TRUE(done_.empty());
  pass(milliseconds{1});
  EXPECT_EQ(done_.back(), "look r1");
}

TEST_F(ReconcileLoopTest, ADroppedRevisionIsNotReconciled) {
  loop_.add(id(1));
  loop_.forget(id(1));
  pass(seconds{1});
  EXPECT_EQ(done_, std::vector<std::string>{"confirm"});
}

TEST_F(ReconcileLoopTest, TheEndOfATurnMayRequestTheNext) {
  int ends = 0;
  end_ = [&] {
    if (++ends < 3) loop_.wake(manual_.now() + seconds{1});
  };
  loop_.wake(manual_.now());
  pass(seconds{1});
  EXPECT_EQ(ends, 2);
  pass(seconds{10});
  EXPECT_EQ(ends, 3);
}

}  // namespace
}  // namespace sluice::autoscaler
