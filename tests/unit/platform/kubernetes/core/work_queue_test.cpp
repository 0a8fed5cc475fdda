#include "platform/kubernetes/core/work_queue.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RevisionId kA{"shop", "a"};
const RevisionId kB{"shop", "b"};
constexpr TimePoint kStart{seconds{1'000'000}};

TEST(WorkQueue, HoldsAScalerOnceAtItsEarliestTime) {
  WorkQueue queue;
  queue.add(kA, kStart + seconds{5});
  queue.add(kA, kStart + seconds{1});
  queue.add(kA, kStart + seconds{9});

  EXPECT_EQ(queue.next_due(), kStart + seconds{1});
  EXPECT_TRUE(queue.take(kStart, 10).empty());
  EXPECT_EQ(queue.take(kStart + seconds{1}, 10), std::vector{kA});
  EXPECT_EQ(queue.next_due(), std::nullopt);
}

TEST(WorkQueue, GivesTheLongestDueFirstAndNoMoreThanAsked) {
  WorkQueue queue;
  queue.add(kB, kStart);
  queue.add(kA, kStart + seconds{1});

  EXPECT_EQ(queue.take(kStart + seconds{2}, 1), std::vector{kB});
  EXPECT_EQ(queue.take(kStart + seconds{2}, 1), std::vector{kA});
}

TEST(WorkQueue, WaitsTwiceAsLongAfterEachFailureUpToALimit) {
  WorkQueue queue;
  Duration before{0};
  for (int i = 0; i < 12; ++i) {
    queue.failed(kA, kStart);
    const Duration wait = *queue.next_due() - kStart;
    if (i == 0) {
      EXPECT_EQ(wait, milliseconds{100});
    }
    if (i > 0 && i < 9) {
      EXPECT_EQ(wait, before * 2) << i;
    }
    before = wait;
    queue.forget(kB);
    EXPECT_EQ(queue.take(kStart + wait, 1).size(), 1U);
  }
  EXPECT_EQ(before, WorkQueue::kWaitMost);
}

TEST(WorkQueue, AFailureAfterASuccessIsTheFirstAgain) {
  WorkQueue queue;
  queue.failed(kA, kStart);
  queue.failed(kA, kStart);
  queue.succeeded(kA);
  (void)queue.take(kStart + seconds{60}, 1);

  queue.failed(kA, kStart);

  EXPECT_EQ(queue.next_due(), kStart + milliseconds{100});
}

TEST(WorkQueue, AChangeDoesNotWaitForTheEndOfABackOff) {
  WorkQueue queue;
  for (int i = 0; i < 5; ++i) queue.failed(kA, kStart + seconds{i});
  queue.forget(kA);
  queue.failed(kA, kStart);

  queue.add(kA, kStart);

  EXPECT_EQ(queue.take(kStart, 1), std::vector{kA});
}

}  // namespace
}  // namespace sluice::autoscaler
