#include "platform/kubernetes/core/probe_book.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Target = ProbeBook::Target;

const RevisionId kA{"shop", "a"};
constexpr TimePoint kStart{seconds{1'000'000}};

TEST(ProbeBook, AnActivatorCountsOnceItHasAnsweredOnThePort) {
  ProbeBook book;
  book.set_activators({"10.0.0.1"}, kStart);
  book.set_port(kA, 20'001, kStart);
  EXPECT_TRUE(book.proven(kA).empty());

  const auto due = book.take(kStart, 10);
  ASSERT_EQ(due, (std::vector<Target>{{kA, 20'001, "10.0.0.1"}}));
  EXPECT_TRUE(book.answered(due[0], true, kStart));

  EXPECT_EQ(book.proven(kA), std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(book.next_due(), std::nullopt);
}

TEST(ProbeBook, AnActivatorThatDoesNotAnswerIsProbedAtGrowingIntervals) {
  ProbeBook book;
  book.set_port(kA, 20'001, kStart);
  book.set_activators({"10.0.0.1"}, kStart);
  const Target target{kA, 20'001, "10.0.0.1"};
  Duration before{0};
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(book.take(*book.next_due(), 1).size(), 1U);
    EXPECT_FALSE(book.answered(target, false, kStart));
    const Duration wait = *book.next_due() - kStart;
    EXPECT_GE(wait, before);
    if (i == 0) {
      EXPECT_EQ(wait, milliseconds{100});
    }
    before = wait;
  }
  EXPECT_EQ(before, ProbeBook::kWaitMost);
}

TEST(ProbeBook, AnotherPortHasToBeProvenAgain) {
  ProbeBook book;
  book.set_activators({"10.0.0.1"}, kStart);
  book.set_port(kA, 20'001, kStart);
  book.answered(book.take(kStart, 1)[0], true, kStart);

  book.set_port(kA, 20'002, kStart);

  EXPECT_TRUE(book.proven(kA).empty());
  EXPECT_FALSE(book.answered({kA, 20'001, "10.0.0.1"}, true, kStart));
  EXPECT_EQ(book.take(kStart, 1)[0].port, 20'002);
}

TEST(ProbeBook, AnActivatorThatWasAwayHasToBeProvenAgain) {
  ProbeBook book;
  book.set_activators({"10.0.0.1"}, kStart);
  book.set_port(kA, 20'001, kStart);
  book.answered(book.take(kStart, 1)[0], true, kStart);

  EXPECT_TRUE(book.set_activators({}, kStart));
  EXPECT_TRUE(book.proven(kA).empty());
  EXPECT_TRUE(book.set_activators({"10.0.0.1"}, kStart));
  EXPECT_FALSE(book.set_activators({"10.0.0.1"}, kStart));

  EXPECT_TRUE(book.proven(kA).empty());
  EXPECT_EQ(book.take(kStart, 9).size(), 1U);
}

TEST(ProbeBook, AnActivatorWithTrafficIsTrustedUntilItsFirstAnswer) {
  ProbeBook book;
  book.set_activators({"10.0.0.1", "10.0.0.2"}, kStart);
  book.set_port(kA, 20'001, kStart, {"10.0.0.1"});
  EXPECT_EQ(book.proven(kA), std::vector<std::string>{"10.0.0.1"});
  ASSERT_EQ(book.take(kStart, 9).size(), 2U) << "it is asked all the same";

  EXPECT_TRUE(book.answered({kA, 20'001, "10.0.0.1"}, false, kStart));

  EXPECT_TRUE(book.proven(kA).empty());
  EXPECT_FALSE(book.answered({kA, 20'001, "10.0.0.1"}, false, kStart));
}

TEST(ProbeBook, AnAnswerOfAnActivatorWithTrafficChangesNothing) {
  ProbeBook book;
  book.set_activators({"10.0.0.1"}, kStart);
  book.set_port(kA, 20'001, kStart, {"10.0.0.1"});

  EXPECT_FALSE(book.answered(book.take(kStart, 1)[0], true, kStart));

  EXPECT_EQ(book.proven(kA), std::vector<std::string>{"10.0.0.1"});
}

TEST(ProbeBook, AnAddressWithTrafficThatIsNoLongerAnActivatorIsNotTrusted) {
  ProbeBook book;
  book.set_activators({"10.0.0.1"}, kStart);
  book.set_port(kA, 20'001, kStart, {"10.0.0.7"});

  book.set_activators({"10.0.0.1", "10.0.0.7"}, kStart);

  EXPECT_TRUE(book.proven(kA).empty()) << "nor when it comes back";
}

TEST(ProbeBook, NoActivatorIsProbedForADeletedScaler) {
  ProbeBook book;
  book.set_activators({"10.0.0.1", "10.0.0.2"}, kStart);
  book.set_port(kA, 20'001, kStart);

  book.forget(kA);

  EXPECT_TRUE(book.take(kStart, 9).empty());
}

}  // namespace
}  // namespace sluice::autoscaler
