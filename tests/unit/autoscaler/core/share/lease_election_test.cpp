#include "autoscaler/core/share/lease_election.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr LeaderElection kRules{.buckets = 1,
                                .lease_duration = seconds{15},
                                .renew_deadline = seconds{10},
                                .retry_period = seconds{2}};

constexpr TimePoint at(Duration since) {
  return TimePoint{seconds{1'700'000'000}} + since;
}

constexpr const char* kBucket = "autoscaler-bucket-00-of-01";

/// One replica and one bucket, whose lease the test writes by hand.
class LeaseElectionTest : public ::testing::Test {
 protected:
  /// The one step that is due; the test fails when there is none, or more.
  LeaseStep step(Duration now) {
    const auto steps = election.steps(at(now));
    EXPECT_EQ(steps.size(), 1U);
    return steps.empty() ? LeaseStep{} : steps.front();
  }

  /// The step as the server would have it, in force.
  LeaseView written(const LeaseStep& step) {
    LeaseView object = step.lease;
    object.renewed = std::to_string(step.at.time_since_epoch().count());
    if (object.acquired.empty()) object.acquired = object.renewed;
    object.version = std::to_string(++version);
    return object;
  }

  LeaseView of_another(const std::string& renewed) {
    return {.holder = "pod-2_10.0.0.2",
            .acquired = "a",
            .renewed = renewed,
            .duration = seconds{15},
            .transitions = 4,
            .epoch = 7,
            .version = std::to_string(++version)};
  }

  /// Takes a lease that was never held, at `now`.
  void take(Duration now) {
    election.answered(step(now).id, LeaseAnswer::missing, {}, at(now));
    const LeaseStep create = step(now);
    EXPECT_EQ(create.kind, LeaseStep::Kind::create);
    lease = written(create);
    election.answered(create.id, LeaseAnswer::done, lease, at(now));
  }

  /// Reads a lease of another replica, at `now`.
  void find(const LeaseView& found, Duration now) {
    election.answered(step(now).id, LeaseAnswer::done, found, at(now));
  }

  [[nodiscard]] bool holds(Duration now) const { return !election.owned(at(now)).empty(); }

  LeaseElection election{{kBucket}, "pod-1_10.0.0.1", kRules, at(seconds{0})};
  LeaseView lease;
  int version = 100;
};

TEST_F(LeaseElectionTest, LooksBeforeItTakes) {
  EXPECT_EQ(step(seconds{0}).kind, LeaseStep::Kind::read);
  EXPECT_TRUE(election.steps(at(seconds{1})).empty()) << "while the answer is awaited";
}

TEST_F(LeaseElectionTest, ALeaseThatDoesNotExistIsCreatedAndHeld) {
  take(seconds{0});

  EXPECT_EQ(lease.holder, "pod-1_10.0.0.1");
  EXPECT_EQ(lease.duration, seconds{15});
  EXPECT_TRUE(holds(seconds{1}));
  EXPECT_EQ(election.owned(at(seconds{1})), std::vector<std::string>{kBucket});
}

TEST_F(LeaseElectionTest, RenewsEachRetryPeriodWithTheVersionItKnows) {
  take(seconds{0});

  EXPECT_EQ(*election.next_due(at(seconds{1})), at(seconds{2}));
  const LeaseStep renewal = step(seconds{2});

  EXPECT_EQ(renewal.kind, LeaseStep::Kind::replace);
  EXPECT_EQ(renewal.lease.version, lease.version);
  EXPECT_EQ(renewal.lease.acquired, lease.acquired);
  EXPECT_EQ(renewal.lease.epoch, lease.epoch);
  EXPECT_EQ(renewal.lease.transitions, lease.transitions);
}

TEST_F(LeaseElectionTest, GivesUpARenewDeadlineAfterTheLastRenewalWasSent) {
  take(seconds{0});
  const LeaseStep renewal = step(seconds{2});
  election.answered(renewal.id, LeaseAnswer::done, written(renewal), at(seconds{6}));

  EXPECT_TRUE(holds(seconds{12} - milliseconds{1}));
  EXPECT_FALSE(holds(seconds{12}));
}

TEST_F(LeaseElectionTest, AnAnswerThatCameTooLateHoldsNothing) {
  election.answered(step(seconds{0}).id, LeaseAnswer::missing, {}, at(seconds{0}));
  const LeaseStep create = step(seconds{0});
  election.answered(create.id, LeaseAnswer::done, written(create), at(seconds{10}));

  EXPECT_FALSE(holds(seconds{10}));
  EXPECT_TRUE(step(seconds{10}).lease.epoch > create.lease.epoch) << "taken anew";
}

TEST_F(LeaseElectionTest, WaitsForAHolderAsLongAsItsLeaseAfterItsLastWord) {
  find(of_another("1"), seconds{0});
  election.observed(kBucket, of_another("2"), at(seconds{9}));

  EXPECT_TRUE(election.steps(at(seconds{24} - milliseconds{1})).empty());
  EXPECT_EQ(*election.next_due(at(seconds{10})), at(seconds{24}));
  const LeaseStep takes = step(seconds{24});
  EXPECT_EQ(takes.kind, LeaseStep::Kind::replace);
  EXPECT_EQ(takes.lease.transitions, 5);
}

TEST_F(LeaseElectionTest, AnEditThatRenewsNothingProlongsNothing) {
  find(of_another("1"), seconds{0});
  election.observed(kBucket, of_another("1"), at(seconds{9}));  // another version, the same claim

  EXPECT_EQ(step(seconds{15}).lease.version, std::to_string(version));
}

TEST_F(LeaseElectionTest, AConflictIsLookedAtAndWaitedForAnew) {
  find(of_another("1"), seconds{0});
  const LeaseStep takes = step(seconds{15});
  election.answered(takes.id, LeaseAnswer::conflict, {}, at(seconds{15}));

  EXPECT_FALSE(holds(seconds{15}));
  find(of_another("2"), seconds{15});
  EXPECT_EQ(*election.next_due(at(seconds{16})), at(seconds{30}));
}

TEST_F(LeaseElectionTest, AStolenLeaseIsLostWhenItIsSeen) {
  take(seconds{0});
  election.observed(kBucket, of_another("1"), at(seconds{1}));

  EXPECT_FALSE(holds(seconds{1}));
  EXPECT_EQ(election.holder(kBucket), "pod-2_10.0.0.2");
}

TEST_F(LeaseElectionTest, AStolenLeaseIsLostAtTheNextRenewalWithoutAWatch) {
  take(seconds{0});
  election.answered(step(seconds{2}).id, LeaseAnswer::conflict, {}, at(seconds{2}));
  find(of_another("1"), seconds{2});

  EXPECT_FALSE(holds(seconds{2}));
}

TEST_F(LeaseElectionTest, WhatIsOlderThanWhatIsKnownIsNotBelieved) {
  const LeaseView old = of_another("1");
  version = 200;
  take(seconds{0});
  election.observed(kBucket, old, at(seconds{1}));

  EXPECT_TRUE(holds(seconds{1}));
}

TEST_F(LeaseElectionTest, ADeletedLeaseIsCreatedAgainByItsHolder) {
  take(seconds{0});
  election.observed(kBucket, {}, at(seconds{1}));
  election.answered(step(seconds{1}).id, LeaseAnswer::missing, {}, at(seconds{1}));
  const LeaseStep again = step(seconds{1});

  EXPECT_TRUE(holds(seconds{1}));
  EXPECT_EQ(again.kind, LeaseStep::Kind::create);
  EXPECT_EQ(again.lease.epoch, lease.epoch);
}

TEST_F(LeaseElectionTest, ADeletedLeaseOfAnotherIsNotFreeBeforeItsTime) {
  find(of_another("1"), seconds{0});
  election.observed(kBucket, {}, at(seconds{3}));
  election.answered(step(seconds{3}).id, LeaseAnswer::missing, {}, at(seconds{3}));

  EXPECT_TRUE(election.steps(at(seconds{15} - milliseconds{1})).empty());
  EXPECT_EQ(step(seconds{15}).kind, LeaseStep::Kind::create);
}

TEST_F(LeaseElectionTest, AReleasedLeaseIsTakenAtOnce) {
  LeaseView released = of_another("1");
  released.holder.clear();
  released.duration = seconds{1};
  find(released, seconds{0});

  EXPECT_EQ(step(seconds{0}).kind, LeaseStep::Kind::replace);
}

TEST_F(LeaseElectionTest, AnEarlierLifeOfOursIsGoneOnWithUnderANewEpoch) {
  LeaseView ours = of_another("1");
  ours.holder = "pod-1_10.0.0.1";
  ours.epoch = 1'900'000'000;
  find(ours, seconds{0});
  const LeaseStep takes = step(seconds{0});

  EXPECT_EQ(takes.lease.epoch, 1'900'000'001U);
  EXPECT_EQ(takes.lease.transitions, ours.transitions);
}

TEST_F(LeaseElectionTest, AnEpochIsTheUnixTimeAtLeast) {
  take(seconds{0});

  EXPECT_EQ(election.epoch(), 1'700'000'000U);
}

TEST_F(LeaseElectionTest, AnEpochThatNobodyCouldHaveReachedIsIgnored) {
  LeaseView released = of_another("1");
  released.holder.clear();
  released.epoch = 1ULL << 60U;
  find(released, seconds{0});

  EXPECT_EQ(step(seconds{0}).lease.epoch, 1'700'000'000U);
}

TEST_F(LeaseElectionTest, AReleaseEndsTheHoldBeforeItIsWritten) {
  take(seconds{0});
  election.release();

  EXPECT_FALSE(holds(seconds{1}));
  EXPECT_FALSE(election.released());
  const LeaseStep back = step(seconds{1});
  EXPECT_EQ(back.lease.holder, "");
  EXPECT_EQ(back.lease.version, lease.version);
  election.answered(back.id, LeaseAnswer::done, written(back), at(seconds{1}));
  EXPECT_TRUE(election.released());
}

TEST_F(LeaseElectionTest, AfterAReleaseTheHeirIsLookedForAndNothingIsTaken) {
  take(seconds{0});
  election.release();
  const LeaseStep back = step(seconds{1});
  election.answered(back.id, LeaseAnswer::done, written(back), at(seconds{1}));

  EXPECT_TRUE(election.steps(at(seconds{1})).empty());
  const LeaseStep look = step(seconds{2});
  EXPECT_EQ(look.kind, LeaseStep::Kind::read);
  election.answered(look.id, LeaseAnswer::done, of_another("1"), at(seconds{2}));
  EXPECT_EQ(election.holder(kBucket), "pod-2_10.0.0.2");
  EXPECT_FALSE(election.next_due(at(seconds{2})));
}

TEST_F(LeaseElectionTest, ARenewalOnItsWayIsAwaitedBeforeTheRelease) {
  take(seconds{0});
  const LeaseStep renewal = step(seconds{2});
  election.release();

  EXPECT_TRUE(election.steps(at(seconds{2})).empty());
  EXPECT_FALSE(election.released());
  const LeaseView renewed = written(renewal);
  election.answered(renewal.id, LeaseAnswer::done, renewed, at(seconds{3}));
  EXPECT_FALSE(holds(seconds{3}));
  EXPECT_EQ(step(seconds{3}).lease.version, renewed.version);
}

TEST_F(LeaseElectionTest, AFailedRequestIsRepeatedAfterARetryPeriod) {
  take(seconds{0});
  election.answered(step(seconds{2}).id, LeaseAnswer::failed, {}, at(seconds{3}));

  EXPECT_EQ(*election.next_due(at(seconds{3})), at(seconds{4}));
}

TEST_F(LeaseElectionTest, WithoutItsNamespaceALeaseIsTriedOnceARetryPeriod) {
  election.answered(step(seconds{0}).id, LeaseAnswer::missing, {}, at(seconds{0}));
  election.answered(step(seconds{0}).id, LeaseAnswer::missing, {}, at(seconds{0}));

  EXPECT_EQ(*election.next_due(at(seconds{0})), at(seconds{2}));
}

TEST_F(LeaseElectionTest, AfterAConflictItLooksAtOnceAndClaimsInPeace) {
  take(seconds{0});
  election.answered(step(seconds{2}).id, LeaseAnswer::conflict, {}, at(seconds{2}));
  LeaseView labelled = lease;
  labelled.version = std::to_string(++version);
  find(labelled, seconds{2});

  EXPECT_TRUE(holds(seconds{2}));
  EXPECT_EQ(*election.next_due(at(seconds{2})), at(seconds{2} + milliseconds{500}));
}

TEST_F(LeaseElectionTest, ObjectsThatAreNoBucketAreIgnored) {
  election.observed("somebody-else", of_another("1"), at(seconds{0}));

  EXPECT_EQ(election.holder("somebody-else"), "");
  EXPECT_EQ(step(seconds{0}).bucket, kBucket);
}

/// Buckets of a fresh cluster, seen by one replica.
std::vector<TimePoint> takes_all(int buckets) {
  LeaseElection election{bucket_names(buckets), "pod-1_10.0.0.1", kRules, at(seconds{0})};
  std::vector<TimePoint> taken;
  int version = 0;
  for (Duration now{0}; now < seconds{20}; now += milliseconds{100}) {
    for (const LeaseStep& step : election.steps(at(now))) {
      if (step.kind == LeaseStep::Kind::read) {
        election.answered(step.id, LeaseAnswer::missing, {}, at(now));
        continue;
      }
      if (step.kind == LeaseStep::Kind::create) taken.push_back(at(now));
      LeaseView lease = step.lease;
      lease.version = std::to_string(++version);
      election.answered(step.id, LeaseAnswer::done, lease, at(now));
    }
  }
  return taken;
}

TEST(LeaseElection, OnAFreshClusterTheNextBucketIsLeftToOthersFirst) {
  const std::vector<TimePoint> taken = takes_all(3);

  ASSERT_EQ(taken.size(), 3U);
  EXPECT_GE(taken[1] - at(seconds{0}), kRules.retry_period);
  EXPECT_GE(taken[2] - at(seconds{0}), 2 * kRules.retry_period);
}

TEST(LeaseElection, OneReplicaAloneHasEveryBucketAfterThreeRetryPeriods) {
  const std::vector<TimePoint> taken = takes_all(kBucketsMax);

  ASSERT_EQ(taken.size(), static_cast<std::size_t>(kBucketsMax));
  EXPECT_LE(taken.back() - at(seconds{0}), 3 * kRules.retry_period + seconds{1});
}

}  // namespace
}  // namespace sluice::autoscaler
