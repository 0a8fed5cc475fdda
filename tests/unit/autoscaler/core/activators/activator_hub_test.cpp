#include "autoscaler/core/activators/activator_hub.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RevisionId kWeb{"default", "web-00001"};

// One word per message: what the activator would read.
std::string word(const proto::AutoscalerMessage& message) {
  if (const auto* hail = std::get_if<proto::Welcome>(&message))
    return "welcome:" + hail->autoscaler;
  if (const auto* state = std::get_if<proto::RevisionState>(&message)) {
    return state->revision.name.substr(0, 3) + "=" + std::to_string(state->granted) + "/" +
           std::to_string(state->desired);
  }
  if (const auto* gone = std::get_if<proto::RevisionGone>(&message)) {
    return gone->revision.name.substr(0, 3) + " gone";
  }
  if (const auto* end = std::get_if<proto::SnapshotEnd>(&message)) {
    return "end:" + std::to_string(end->revisions);
  }
  return "buckets";
}

class ActivatorHubTest : public ::testing::Test {
 protected:
  ActivatorHub::Session session() { return *hub.open(now); }

  // A session that has said Hello, and whose snapshot is read.
  ActivatorHub::Session activator(const std::string& name) {
    const auto opened = session();
    EXPECT_TRUE(hub.received(opened, hello(name), now).greeted);
    (void)drain(opened);
    return opened;
  }

  static proto::Hello hello(const std::string& name) {
    return {proto::kActivatorProtocol, name, "10.0.0.9:8012", "1.0.0", {}};
  }

  // Everything that is due for a session now.
  std::string drain(ActivatorHub::Session of) {
    std::string words;
    while (const auto message = hub.next_message(of, now)) {
      words += (words.empty() ? "" : " ") + word(*message);
    }
    return words;
  }

  std::uint64_t say(const RevisionId& revision, std::int32_t desired, std::int32_t granted,
                    std::vector<std::string> avoid = {}) {
    return hub.set_state({.revision = revision,
                          .desired = desired,
                          .granted = granted,
                          .ready = ready,
                          .avoid = std::move(avoid)},
                         now);
  }

  TimePoint now{seconds{1'700'000'000}};
  std::int32_t ready = 0;
  ActivatorHub hub{{"autoscaler-1", "1.0.0"}, {{"b-0"}, {"b-0"}, 3}, now};
};

TEST(FirstVersion, GrowsWithTheStartWithinASecondToo) {
  const TimePoint start{seconds{1'700'000'000}};

  EXPECT_EQ(first_version(start), 1'700'000'000ULL << 32U);
  EXPECT_GT(first_version(start + milliseconds{1}), first_version(start) + 1'000'000);
  EXPECT_GT(first_version(start + seconds{1}), first_version(start + Duration{999'999'999}));
}

TEST_F(ActivatorHubTest, NothingIsSentBeforeHello) {
  say(kApp, 1, 1);
  const auto silent = session();

  EXPECT_EQ(drain(silent), "");
  EXPECT_EQ(hub.connected(), 0U);
}

TEST_F(ActivatorHubTest, AColdStartIsAcceptedForKnownRevisionsOnly) {
  say(kApp, 1, 1);
  const auto one = activator("activator-1");

  EXPECT_EQ(
      hub.received(one, proto::ColdStart{.revision = kApp, .pod = "pod-1"}, now).cold_start->pod,
      "pod-1");
  EXPECT_FALSE(hub.received(one, proto::ColdStart{.revision = kWeb}, now).cold_start);
}

TEST_F(ActivatorHubTest, AHelloIsAnsweredWithEveryOwnedRevision) {
  say(kApp, 2, 1);
  say(kWeb, 0, 0);
  const auto opened = session();

  EXPECT_TRUE(hub.received(opened, hello("a"), now).greeted);

  EXPECT_EQ(drain(opened), "welcome:autoscaler-1 app=1/2 web=0/0 end:2");
  EXPECT_EQ(hub.connected(), 1U);
  ASSERT_EQ(hub.activators().size(), 1U);
  EXPECT_EQ(hub.activators().front().address, "10.0.0.9:8012");
}

TEST_F(ActivatorHubTest, AnEmptySnapshotEndsToo) {
  const auto opened = session();
  (void)hub.received(opened, hello("a"), now);

  EXPECT_EQ(drain(opened), "welcome:autoscaler-1 end:0");
}

TEST_F(ActivatorHubTest, AnotherProtocolIsRefusedWithBothNumbers) {
  const auto opened = session();
  proto::Hello other = hello("a");
  other.protocol = 2;

  const auto heard = hub.received(opened, other, now);

  ASSERT_TRUE(heard.refused.has_value());
  EXPECT_EQ(heard.refused->why, ActivatorHub::Refusal::wrong_protocol);
  EXPECT_NE(heard.refused->text.find("protocol 2"), std::string::npos);
  EXPECT_NE(heard.refused->text.find("protocol 1"), std::string::npos);
  EXPECT_EQ(drain(opened), "");
  EXPECT_EQ(hub.connected(), 0U);
  EXPECT_FALSE(hub.received(opened, hello("a"), now).greeted) << "refused once, refused for good";
}

TEST_F(ActivatorHubTest, AMessageOutOfOrderIsRefused) {
  const auto silent = session();
  const auto twice = activator("a");
  const auto nameless = session();

  EXPECT_EQ(hub.received(silent, proto::StatBatch{}, now).refused->why,
            ActivatorHub::Refusal::out_of_turn);
  EXPECT_EQ(hub.received(twice, hello("a"), now).refused->why, ActivatorHub::Refusal::out_of_turn);
  EXPECT_EQ(hub.received(nameless, hello(""), now).refused->why,
            ActivatorHub::Refusal::out_of_turn);
  EXPECT_EQ(hub.counts().refused, 3U);
}

TEST_F(ActivatorHubTest, ASessionWithoutHelloBecomesOverdue) {
  const auto silent = session();
  (void)activator("a");

  now += kHelloLimit - milliseconds{1};
  EXPECT_TRUE(hub.overdue(now).empty());
  now += milliseconds{1};
  EXPECT_EQ(hub.overdue(now), std::vector<ActivatorHub::Session>{silent});
}

TEST_F(ActivatorHubTest, SessionsHaveALimit) {
  for (std::size_t i = 0; i < ActivatorHub::kSessionsMax; ++i) (void)session();

  EXPECT_FALSE(hub.open(now).has_value());
}

TEST_F(ActivatorHubTest, OnlyTheNewestStateIsSent) {
  const auto reader = activator("a");

  say(kApp, 1, 1);
  say(kApp, 2, 2);
  say(kApp, 3, 3);

  EXPECT_EQ(drain(reader), "app=3/3");
}

TEST_F(ActivatorHubTest, AStateIsSentAtMostTenTimesASecond) {
  const auto reader = activator("a");
  say(kApp, 1, 1);
  ASSERT_EQ(drain(reader), "app=1/1");

  now += milliseconds{40};
  say(kApp, 2, 2);
  EXPECT_EQ(drain(reader), "");
  EXPECT_EQ(hub.next_due(now), now + milliseconds{60});

  now += milliseconds{60};
  EXPECT_EQ(drain(reader), "app=2/2");
  EXPECT_EQ(hub.next_due(now), std::nullopt);
}

TEST_F(ActivatorHubTest, TheFirstGrantAfterZeroIsSentAtOnce) {
  const auto reader = activator("a");
  say(kApp, 0, 0);
  ASSERT_EQ(drain(reader), "app=0/0");
  say(kWeb, 1, 1);
  ASSERT_EQ(drain(reader), "web=1/1");

  now += milliseconds{10};
  say(kWeb, 2, 2);
  say(kApp, 2, 0);
  EXPECT_EQ(drain(reader), "") << "wanted is not granted";
  say(kApp, 2, 1);

  EXPECT_EQ(drain(reader), "app=1/2");
}

TEST_F(ActivatorHubTest, AGrantIsSentAheadOfASnapshot) {
  for (int i = 0; i < 100; ++i) say({"default", "aaa-" + std::to_string(i)}, 0, 0);
  say(kWeb, 0, 0);
  const auto reader = session();
  (void)hub.received(reader, hello("a"), now);
  ASSERT_EQ(word(*hub.next_message(reader, now)), "welcome:autoscaler-1");

  say(kWeb, 1, 1);

  EXPECT_EQ(word(*hub.next_message(reader, now)), "web=1/1");
  EXPECT_TRUE(drain(reader).ends_with("end:101"));
}

TEST_F(ActivatorHubTest, AChangeOfReadyAloneIsNotSent) {
  const auto reader = activator("a");
  const auto version = say(kApp, 3, 3);
  ASSERT_EQ(drain(reader), "app=3/3");
  now += seconds{1};

  ready = 3;
  EXPECT_EQ(say(kApp, 3, 3), version);
  EXPECT_EQ(drain(reader), "");

  EXPECT_EQ(hub.state(kApp)->ready, 3) << "a later snapshot has it";
}

TEST_F(ActivatorHubTest, VersionsGrowAcrossRevisions) {
  const auto first = say(kApp, 1, 1);
  const auto second = say(kWeb, 1, 1);
  hub.remove(kApp, now);
  const auto third = say(kApp, 1, 1);

  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST_F(ActivatorHubTest, TheRemovalOfARevisionIsSentToTheActivatorsThatHadIt) {
  say(kApp, 1, 1);
  const auto knows = activator("a");
  const auto reading = session();
  (void)hub.received(reading, hello("b"), now);

  hub.remove(kApp, now);

  EXPECT_EQ(drain(knows), "app gone");
  EXPECT_EQ(drain(reading), "welcome:autoscaler-1 end:0");
  EXPECT_EQ(hub.state(kApp), nullptr);
}

TEST_F(ActivatorHubTest, ARevisionThatReturnsIsNotGone) {
  say(kApp, 1, 1);
  const auto reader = activator("a");

  hub.remove(kApp, now);
  say(kApp, 2, 2);

  EXPECT_EQ(drain(reader), "app=2/2");
}

TEST_F(ActivatorHubTest, BucketsAreSentWhenTheyChange) {
  const auto reader = activator("a");

  hub.set_buckets({{"b-0", "b-1"}, {"b-0"}, 4});

  EXPECT_EQ(drain(reader), "buckets");
}

TEST_F(ActivatorHubTest, StatsKeepTheirTimestamp) {
  const auto speaker = activator("a");
  const proto::Stat stat{.pod_name = "a",
                         .average_concurrent_requests = 2.5,
                         .request_count = 9,
                         .timestamp = 1'700'000'001};
  const proto::StatBatch batch{1, {{kApp, stat}, {kWeb, {}}}, {}};

  const auto heard = hub.received(speaker, batch, now);

  ASSERT_EQ(heard.stats.size(), 2U);
  EXPECT_EQ(heard.stats[0].revision, kApp);
  EXPECT_EQ(heard.stats[0].stat.average_concurrency, 2.5);
  EXPECT_EQ(heard.stats[0].stat.request_count, 9);
  EXPECT_EQ(heard.stats[0].stamp, TimePoint{seconds{1'700'000'001}});
  EXPECT_EQ(heard.stats[1].stamp, std::nullopt);
}

TEST_F(ActivatorHubTest, AnImplausibleTimestampCountsAsNone) {
  const auto speaker = activator("a");
  const proto::Stat late{.timestamp = std::numeric_limits<std::int64_t>::max()};
  const proto::Stat early{.timestamp = std::numeric_limits<std::int64_t>::min()};

  const auto heard =
      hub.received(speaker, proto::StatBatch{1, {{kApp, late}, {kApp, early}}, {}}, now);

  EXPECT_EQ(heard.stats[0].stamp, std::nullopt);
  EXPECT_EQ(heard.stats[1].stamp, std::nullopt);
}

TEST_F(ActivatorHubTest, TheAgeOfTheNewestRequestReachesTheScalerIfReported) {
  const auto speaker = activator("a");
  const proto::StatBatch batch{1, {{kApp, {}, std::chrono::milliseconds{7}}, {kWeb, {}}}, {}};

  const auto heard = hub.received(speaker, batch, now);

  ASSERT_EQ(heard.stats.size(), 2U);
  EXPECT_EQ(heard.stats[0].newest, std::chrono::milliseconds{7});
  EXPECT_EQ(heard.stats[1].newest, std::nullopt);
}

TEST_F(ActivatorHubTest, MissingBatchesAreCounted) {
  const auto speaker = activator("a");

  (void)hub.received(speaker, proto::StatBatch{1, {}, {}}, now);
  (void)hub.received(speaker, proto::StatBatch{2, {}, {}}, now);
  (void)hub.received(speaker, proto::StatBatch{5, {}, {}}, now);

  EXPECT_EQ(hub.counts().gaps, 2U);
  EXPECT_EQ(hub.counts().batches, 3U);
}

TEST_F(ActivatorHubTest, AWaitingRequestForARevisionAtZeroIsAPoke) {
  const auto speaker = activator("a");
  say(kApp, 0, 0);
  say(kWeb, 1, 0);
  const std::vector<proto::Waiting> waiting{
      {kApp, 3, {}}, {kApp, 3, {}}, {kWeb, 2, {}}, {{"default", "unknown"}, 1, {}}};

  const auto heard = hub.received(speaker, proto::StatBatch{1, {}, waiting}, now);

  const std::vector<ActivatorHub::Heard::Poke> pokes{{kApp, 3.0}};
  EXPECT_EQ(heard.pokes, pokes);
}

TEST_F(ActivatorHubTest, APokeThatTheStatsShowIsNotRepeated) {
  const auto speaker = activator("a");
  say(kApp, 0, 0);
  say(kWeb, 0, 0);
  const proto::StatBatch batch{
      1, {{kApp, {.average_concurrent_requests = 1}}, {kWeb, {}}}, {{kApp, 1, {}}, {kWeb, 1, {}}}};

  const auto heard = hub.received(speaker, batch, now);

  const std::vector<ActivatorHub::Heard::Poke> pokes{{kWeb, 1.0}};
  EXPECT_EQ(heard.pokes, pokes);
}

TEST_F(ActivatorHubTest, AHelloWithWaitingRequestsIsAPokeToo) {
  say(kApp, 0, 0);
  proto::Hello back = hello("a");
  back.waiting = {{kApp, 2, {}}};

  EXPECT_EQ(hub.received(session(), back, now).pokes.size(), 1U);
}

class Removal : public ActivatorHubTest {
 protected:
  Removal() { now += kRemovalWait; }  // past the time in which unknown activators may exist

  void apply(ActivatorHub::Session by, std::uint64_t version) {
    EXPECT_EQ(hub.received(by, proto::Applied{kApp, version}, now).applied, kApp);
  }
};

TEST_F(Removal, WaitsForEveryActivator) {
  const auto first = activator("a");
  const auto second = activator("b");
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});
  EXPECT_FALSE(hub.applied(kApp, version, now));

  apply(first, version);
  EXPECT_FALSE(hub.applied(kApp, version, now));
  apply(second, version);

  EXPECT_TRUE(hub.applied(kApp, version, now));
}

TEST_F(Removal, DoesNotWaitForASilentActivator) {
  const auto speaks = activator("a");
  (void)activator("b");
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});
  now += seconds{4};
  apply(speaks, version);

  EXPECT_FALSE(hub.applied(kApp, version, now));
  EXPECT_EQ(hub.applied_latest(kApp, version, now), now + seconds{1});
  now += seconds{1};

  EXPECT_TRUE(hub.applied(kApp, version, now));
}

TEST_F(Removal, WaitsForAnActivatorThatWasLostAMomentAgo) {
  const auto lost = activator("a");
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});
  now += seconds{1};
  hub.closed(lost, now);

  EXPECT_EQ(hub.connected(), 0U);
  EXPECT_FALSE(hub.applied(kApp, version, now)) << "it may still choose by what it knew";
  now += seconds{4};

  EXPECT_TRUE(hub.applied(kApp, version, now));
}

TEST_F(Removal, MustBeConfirmedAgainByAnActivatorThatReconnects) {
  const auto lost = activator("a");
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});
  apply(lost, version);
  const auto back = activator("a");
  hub.closed(lost, now);
  EXPECT_EQ(hub.connected(), 1U);

  EXPECT_FALSE(hub.applied(kApp, version, now));
  apply(back, version);

  EXPECT_TRUE(hub.applied(kApp, version, now));
}

TEST_F(Removal, IsNotDelayedByLaterChangesOfOtherFields) {
  const auto only = activator("a");
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});
  apply(only, version);

  const auto later = say(kApp, 5, 5, {"10.0.0.1:80"});

  EXPECT_GT(later, version);
  EXPECT_TRUE(hub.applied(kApp, later, now)) << "no activator confirms what did not change";
}

TEST_F(Removal, AnOlderConfirmationIsNotEnough) {
  const auto only = activator("a");
  const auto first = say(kApp, 1, 1, {"10.0.0.1:80"});
  apply(only, first);
  const auto second = say(kApp, 1, 1, {"10.0.0.1:80", "10.0.0.2:80"});
  apply(only, first);

  EXPECT_TRUE(hub.applied(kApp, first, now));
  EXPECT_FALSE(hub.applied(kApp, second, now));
}

TEST_F(Removal, WithoutActivatorsIsApplied) {
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});

  EXPECT_TRUE(hub.applied(kApp, version, now));
}

TEST_F(ActivatorHubTest, ActivatorsHaveTimeToReconnectAfterARestart) {
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});

  EXPECT_FALSE(hub.applied(kApp, version, now));
  now += kRemovalWait;

  EXPECT_TRUE(hub.applied(kApp, version, now));
}

TEST_F(Removal, IsNotDelayedUntilASteppedClockHasCaughtUp) {
  const auto speaks = activator("a");
  (void)activator("b");
  now -= seconds{3600};
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});
  EXPECT_FALSE(hub.applied(kApp, version, now));
  apply(speaks, version);

  now += kRemovalWait;

  EXPECT_TRUE(hub.applied(kApp, version, now)) << "b is silent, and the start long ago";
}

TEST_F(Removal, AConfirmationOfAnotherSessionOrRevisionIsIgnored) {
  const auto old = activator("a");
  const auto newer = activator("a");
  const auto version = say(kApp, 1, 1, {"10.0.0.1:80"});

  EXPECT_EQ(hub.received(old, proto::Applied{kApp, version}, now).applied, std::nullopt);
  EXPECT_EQ(hub.received(newer, proto::Applied{kWeb, version}, now).applied, std::nullopt);

  EXPECT_FALSE(hub.applied(kApp, version, now));
}

TEST_F(ActivatorHubTest, AClockThatStepsBackDelaysNothing) {
  const auto reader = activator("a");
  say(kApp, 1, 1);
  ASSERT_EQ(drain(reader), "app=1/1");

  now -= seconds{3600};
  say(kApp, 2, 2);

  EXPECT_EQ(drain(reader), "app=2/2");
}

}  // namespace
}  // namespace sluice::autoscaler
