#include "autoscaler/core/buckets.h"

#include <gtest/gtest.h>

#include <array>

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

// Row 97.
TEST(Buckets, HolderWithoutAnUnderscoreIsAProblemToWarnOf) {
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

TEST(Buckets, SelfNeedsBothVariables) {
  const auto self = read_self({{"POD_NAME", "autoscaler-abc"}, {"POD_IP", "10.0.0.7"}});
  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(identity(*self), "autoscaler-abc_10.0.0.7");

  EXPECT_EQ(read_self({{"POD_IP", "10.0.0.7"}}).error().text(),
            "POD_NAME is not set; set it to the name of this pod");
  EXPECT_EQ(read_self({{"POD_NAME", "a"}, {"POD_IP", ""}}).error().text(),
            "POD_IP is not set; set it to the IP of this pod");
  EXPECT_FALSE(read_self({{"POD_NAME", "a_b"}, {"POD_IP", "10.0.0.7"}}).has_value());
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

TEST(LeaderElection, AWrongOldNameIsToldEvenBesideADashedOne) {
  EXPECT_EQ(complaint({{"retryPeriod", "8"}, {"retry-period", "8s"}}),
            "retryPeriod \"8\" cannot be read; write a duration such as 15s or 1m30s");
}

TEST(LeaderElection, ProblemNamesKeyValueRuleAndWhatIsAccepted) {
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

StringMap environment() {
  return {{"STATEFUL_CONTROLLER_ORDINAL", "autoscaler-2"}, {"STATEFUL_SERVICE_NAME", "asvc"}};
}

bool stateful_with(const std::string& key, const std::string& value) {
  StringMap changed = environment();
  changed[key] = value;
  return read_stateful(changed, 3).has_value();
}

TEST(StatefulReplica, IsReadWithItsDefaults) {
  EXPECT_EQ(read_stateful(environment(), 3),
            (StatefulReplica{.set = "autoscaler", .ordinal = 2, .service = "asvc"}));
}

TEST(StatefulReplica, ReadsPortAndProtocol) {
  StringMap given = environment();
  given["STATEFUL_SERVICE_PORT"] = "8080";
  given["STATEFUL_SERVICE_PROTOCOL"] = "ws";

  const auto self = read_stateful(given, 3);

  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(stateful_bucket_names(*self, 3, {.space = "ns"}),
            (Names{"ws://autoscaler-0.asvc.ns.svc.cluster.local:8080",
                   "ws://autoscaler-1.asvc.ns.svc.cluster.local:8080",
                   "ws://autoscaler-2.asvc.ns.svc.cluster.local:8080"}));
}

TEST(StatefulReplica, AnyProblemMeansTheLeaseMode) {
  EXPECT_FALSE(read_stateful({}, 3).has_value());
  EXPECT_FALSE(read_stateful(environment(), 2).has_value()) << "no bucket for replica 2";
  EXPECT_FALSE(stateful_with("STATEFUL_SERVICE_NAME", ""));
  EXPECT_FALSE(stateful_with("STATEFUL_SERVICE_PORT", "0"));
  EXPECT_FALSE(stateful_with("STATEFUL_SERVICE_PORT", "http"));
  for (const char* name : {"", "autoscaler", "autoscaler-", "autoscaler-x", "-1", "a-+1"}) {
    EXPECT_FALSE(stateful_with("STATEFUL_CONTROLLER_ORDINAL", name)) << name;
  }
  EXPECT_TRUE(stateful_with("STATEFUL_CONTROLLER_ORDINAL", "my-own-autoscaler-1"));
}

}  // namespace
}  // namespace sluice::autoscaler
