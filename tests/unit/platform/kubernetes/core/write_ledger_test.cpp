#include "platform/kubernetes/core/write_ledger.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using Verdict = WriteLedger::Verdict;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds{1'000'000}};

TEST(WriteLedger, OneWriteOfAnObjectIsInFlightAtATime) {
  WriteLedger ledger;
  EXPECT_EQ(ledger.judge("a", "1", kStart), Verdict::send);
  ledger.sent("a", "1");

  EXPECT_EQ(ledger.judge("a", "1", kStart), Verdict::on_its_way);
  EXPECT_EQ(ledger.judge("a", "2", kStart), Verdict::outdated);
  EXPECT_EQ(ledger.judge("b", "1", kStart), Verdict::send);
}

TEST(WriteLedger, TheSameIsNotWrittenAgainBeforeItCanHaveShown) {
  WriteLedger ledger;
  ledger.sent("a", "1");
  ledger.answered("a", true, kStart);

  EXPECT_EQ(ledger.judge("a", "1", kStart + seconds{1}), Verdict::on_its_way);
  EXPECT_EQ(ledger.judge("a", "2", kStart + seconds{1}), Verdict::send);
  EXPECT_EQ(ledger.judge("a", "1", kStart + WriteLedger::kPatience), Verdict::send);
}

TEST(WriteLedger, AnObjectChangedByAnotherWriterIsWrittenAtOnce) {
  WriteLedger ledger;
  ledger.sent("a", "1");
  ledger.answered("a", true, kStart);

  ledger.seen("a");

  EXPECT_EQ(ledger.judge("a", "1", kStart), Verdict::send);
}

TEST(WriteLedger, AWriteIsUnseenUntilItShowsOrItsTimeIsOver) {
  WriteLedger ledger;
  EXPECT_FALSE(ledger.unseen("a", kStart));
  ledger.sent("a", "1");
  EXPECT_TRUE(ledger.unseen("a", kStart));
  ledger.answered("a", true, kStart);
  EXPECT_TRUE(ledger.unseen("a", kStart));
  EXPECT_FALSE(ledger.unseen("a", kStart + WriteLedger::kPatience));

  ledger.seen("a");
  EXPECT_FALSE(ledger.unseen("a", kStart));
}

TEST(WriteLedger, AFailureIsDropped) {
  WriteLedger ledger;
  ledger.sent("a", "1");
  ledger.answered("a", false, kStart);
  EXPECT_EQ(ledger.judge("a", "1", kStart), Verdict::send);
}

TEST(WriteLedger, KeepsNothingThatHasSettled) {
  WriteLedger ledger;
  ledger.sent("a", "1");
  ledger.sent("b", "1");
  ledger.answered("a", true, kStart);

  ledger.forget_settled(kStart + WriteLedger::kPatience);

  EXPECT_EQ(ledger.size(), 1U);
}

}  // namespace
}  // namespace sluice::autoscaler
