#include "autoscaler/core/share/buckets.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Names = std::vector<std::string>;

TEST(Buckets, AreNamedByTwoDigitNumbers) {
  EXPECT_EQ(bucket_names(1), Names{"autoscaler-bucket-00-of-01"});
  EXPECT_EQ(bucket_names(10).front(), "autoscaler-bucket-00-of-10");
  EXPECT_EQ(bucket_names(10).back(), "autoscaler-bucket-09-of-10");
}

std::string held_by(std::string_view identity) {
  const auto holder = parse_identity(identity);
  return holder ? holder->pod + " at " + holder->address : "ignored";
}

TEST(Buckets, HolderIsThePodAndItsAddress) {
  EXPECT_EQ(identity({.pod = "autoscaler-abc", .address = "10.0.0.7"}), "autoscaler-abc_10.0.0.7");
  EXPECT_EQ(held_by("autoscaler-abc_10.0.0.7"), "autoscaler-abc at 10.0.0.7");
  EXPECT_EQ(held_by("autoscaler-abc_fd00::7"), "autoscaler-abc at fd00::7");
}

TEST(Buckets, HoldersAreTheOtherReplicasOnceWithTheLeaderAndBucketsWithoutAHolder) {
  const Names all = bucket_names(5);
  const Holder self{.pod = "b", .address = "10.0.0.2"};
  const Holder other{.pod = "c", .address = "10.0.0.3"};
  const Holder leader{.pod = "a", .address = "10.0.0.1"};
  const std::map<std::string, Holder> held{
      {all[0], leader}, {all[1], self}, {all[2], other}, {all[3], other}};
  const auto seen = [&](const Holder& by) {
    return holders_of(all, by, [&](const std::string& bucket) {
      const auto found = held.find(bucket);
      return found == held.end() ? std::nullopt : std::optional{found->second};
    });
  };
  EXPECT_EQ(seen(self), (Holders{.others = {leader, other}, .unheld = {all[4]}, .leader = leader}));
  EXPECT_EQ(seen(leader), (Holders{.others = {self, other}, .unheld = {all[4]}}));
  const Holder again{.pod = "b", .address = "10.0.0.9"};
  EXPECT_EQ(seen(again).unheld, (Names{all[1], all[4]}));
}

// Row 97.
TEST(Buckets, HolderWithoutAnUnderscoreIsReportedAsAProblem) {
  const auto holder = parse_identity("autoscaler-abc");

  ASSERT_FALSE(holder.has_value());
  EXPECT_EQ(holder.error().text(),
            "holder \"autoscaler-abc\" cannot be read; a holder is written <pod name>_<pod ip>");
}

TEST(Buckets, HolderWithoutANameOrAnAddressIsIgnored) {
  EXPECT_EQ(held_by(""), "ignored");
  EXPECT_EQ(held_by("_10.0.0.7"), "ignored");
  EXPECT_EQ(held_by("autoscaler-abc_"), "ignored");
  EXPECT_EQ(held_by("autoscaler-abc_10.0.0.7/else"), "ignored");
  EXPECT_EQ(held_by(std::string(254, 'a') + "_10.0.0.7"), "ignored");
  EXPECT_EQ(held_by("a_" + std::string(46, '1')), "ignored");
}

TEST(Buckets, HolderIsReachedByAddressFirstAndThroughItsServiceNext) {
  const SystemDomain system{.space = "sluice-system"};

  EXPECT_EQ(holder_addresses("autoscaler-bucket-00-of-01", {"a", "10.0.0.7"}, system),
            (Names{"ws://10.0.0.7:8080",
                   "ws://autoscaler-bucket-00-of-01.sluice-system.svc.cluster.local:8080"}));
  EXPECT_EQ(holder_addresses("b", {"a", "fd00::7"}, system).front(), "ws://[fd00::7]:8080");
}

// Row 96.
TEST(Buckets, ConnectionToABucketNotOwnedIsRefused) {
  const std::array<std::string, 1> owned{"autoscaler-bucket-01-of-02"};

  EXPECT_TRUE(accepts_connection("autoscaler-bucket-01-of-02.ns.svc.cluster.local:8080", owned));
  EXPECT_TRUE(accepts_connection("autoscaler-bucket-01-of-02:8080", owned));
  EXPECT_FALSE(accepts_connection("autoscaler-bucket-00-of-02.ns.svc.cluster.local:8080", owned));
  EXPECT_FALSE(accepts_connection("autoscaler-bucket-00-of-02", {}));
  EXPECT_FALSE(accepts_connection("autoscaler-bucket", owned));
}

TEST(Buckets, TheHolderOfTheFirstLeads) {
  const Names all = bucket_names(2);

  EXPECT_TRUE(leads(all, all));
  EXPECT_TRUE(leads(all, Names{all[0]}));
  EXPECT_FALSE(leads(all, Names{all[1]}));
  EXPECT_FALSE(leads(all, {}));
  EXPECT_FALSE(leads({}, {})) << "the leases are not known yet";
}

TEST(Buckets, ConnectionToTheOrdinaryServiceOrAnAddressIsNotChecked) {
  EXPECT_TRUE(accepts_connection("autoscaler.ns.svc.cluster.local:8080", {}));
  EXPECT_TRUE(accepts_connection("10.0.0.7:8080", {}));
  EXPECT_TRUE(accepts_connection("", {}));
}

std::string complaint(const StringMap& data) {
  const auto config = parse_leader_election(data);
  return config ? "accepted" : config.error().text();
}

TEST(LeaderElection, EmptyMapGivesTheDefaults) {
  const auto config = parse_leader_election({});

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(*config, LeaderElection{});
}

TEST(LeaderElection, EveryKeyIsRead) {
  const auto config = parse_leader_election({{"buckets", "3"},
                                             {"lease-duration", "15s"},
                                             {"renew-deadline", "10s"},
                                             {"retry-period", "1500ms"},
                                             {"something-else", "?"}});

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(*config, (LeaderElection{.buckets = 3,
                                     .lease_duration = seconds{15},
                                     .renew_deadline = seconds{10},
                                     .retry_period = milliseconds{1500}}));
}

TEST(LeaderElection, OldNamesAreReadFirstAndTheDashedOnesWin) {
  const auto config = parse_leader_election({{"leaseDuration", "100s"},
                                             {"renewDeadline", "50s"},
                                             {"retryPeriod", "7s"},
                                             {"retry-period", "8s"}});

  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->lease_duration, seconds{100});
  EXPECT_EQ(config->renew_deadline, seconds{50});
  EXPECT_EQ(config->retry_period, seconds{8});
}

TEST(LeaderElection, AWrongOldNameIsReportedEvenBesideADashedOne) {
  EXPECT_EQ(complaint({{"retryPeriod", "8"}, {"retry-period", "8s"}}),
            "retryPeriod \"8\" cannot be read; write a duration such as 15s or 1m30s");
}

TEST(LeaderElection, ProblemNamesKeyValueRuleAndAcceptedValues) {
  EXPECT_EQ(complaint({{"buckets", "0"}}), "buckets \"0\" is out of range; accepted: 1 to 10");
  EXPECT_EQ(complaint({{"buckets", "11"}}), "buckets \"11\" is out of range; accepted: 1 to 10");
  EXPECT_EQ(complaint({{"buckets", "two"}}),
            "buckets \"two\" cannot be read; write a whole number, 1 to 10");
  EXPECT_EQ(complaint({{"lease-duration", "0"}}),
            "lease-duration \"0\" must be positive; accepted: a duration above 0s");
}

TEST(LeaderElection, DurationsMustLeaveTimeToNoticeALoss) {
  EXPECT_EQ(complaint({{"lease-duration", "40s"}}),
            "renew-deadline \"40s\" must be shorter than lease-duration; "
            "accepted: a duration below 40s");
  EXPECT_EQ(complaint({{"retry-period", "40s"}}),
            "retry-period \"40s\" must be shorter than renew-deadline; "
            "accepted: a duration below 40s");
}

}  // namespace
}  // namespace sluice::autoscaler
