#include "activator/core/autoscaler_link.h"

#include "common/ring/hash_ring.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RevisionId kApp{"default", "app-00001"};
const RevisionId kWeb{"default", "web-00001"};

class AutoscalerLinkTest : public ::testing::Test {
 protected:
  using Stream = AutoscalerLink::Stream;

  // A stream that has been welcomed, with an empty snapshot still open.
  Stream welcomed(proto::Buckets buckets = {}) {
    const Stream stream = *link.add();
    reconnect(stream, std::move(buckets));
    return stream;
  }

  void reconnect(Stream stream, proto::Buckets buckets = {}) {
    link.connected(stream, {});
    (void)link.next_message(stream);
    EXPECT_TRUE(
        link.received(stream, proto::Welcome{1, "autoscaler", "1", std::move(buckets)}).welcomed);
  }

  AutoscalerLink::Heard say(Stream stream, const RevisionId& revision, std::uint64_t version,
                            std::vector<std::string> avoid = {}) {
    return link.received(
        stream,
        proto::RevisionState{
            .revision = revision, .version = version, .desired = 1, .avoid = std::move(avoid)});
  }

  // Everything that is to be sent.
  std::vector<proto::ActivatorMessage> drain(Stream stream) {
    std::vector<proto::ActivatorMessage> messages;
    while (auto message = link.next_message(stream)) messages.push_back(std::move(*message));
    return messages;
  }

  proto::StatBatch batch(Stream stream) {
    const auto messages = drain(stream);
    EXPECT_EQ(messages.size(), 1U);
    return messages.empty() ? proto::StatBatch{} : std::get<proto::StatBatch>(messages.front());
  }

  // The versions that were confirmed on a stream.
  std::vector<std::uint64_t> confirmed(Stream stream) {
    std::vector<std::uint64_t> versions;
    for (const auto& message : drain(stream)) {
      if (const auto* each = std::get_if<proto::Applied>(&message)) {
        versions.push_back(each->version);
      }
    }
    return versions;
  }

  static RevisionStat stat(const RevisionId& revision, double average = 1) {
    return {revision, average, 2};
  }

  TimePoint now{seconds{1'700'000'000} + milliseconds{700}};
  AutoscalerLink link{{"activator-1", "10.0.0.9:8012", "1.0.0"}};
};

TEST_F(AutoscalerLinkTest, HelloNamesTheActivatorAndItsWaitingRequests) {
  const Stream stream = *link.add();
  EXPECT_FALSE(link.next_message(stream).has_value()) << "not connected";
  const std::vector<proto::Waiting> waiting{{kApp, 3, milliseconds{200}}};

  link.connected(stream, waiting);
  const auto messages = drain(stream);

  ASSERT_EQ(messages.size(), 1U);
  const proto::Hello expected{1, "activator-1", "10.0.0.9:8012", "1.0.0", waiting};
  EXPECT_EQ(std::get<proto::Hello>(messages.front()), expected);
}

TEST_F(AutoscalerLinkTest, OnlyHelloIsSentBeforeTheWelcome) {
  const Stream stream = *link.add();
  link.connected(stream, {});
  (void)drain(stream);

  const std::vector<RevisionStat> stats{stat(kApp)};
  link.tick(stats, {}, now);

  EXPECT_TRUE(drain(stream).empty());
  EXPECT_EQ(link.welcomed(), 0U);
  EXPECT_EQ(link.counts().unowned, 1U);
}

TEST_F(AutoscalerLinkTest, AnotherProtocolIsRefusedWithBothNumbers) {
  const Stream stream = *link.add();
  link.connected(stream, {});

  const auto heard = link.received(stream, proto::Welcome{2, "", "", {}});

  ASSERT_TRUE(heard.refused.has_value());
  EXPECT_NE(heard.refused->find("protocol 2"), std::string::npos);
  EXPECT_NE(heard.refused->find("protocol 1"), std::string::npos);
  EXPECT_FALSE(heard.welcomed);
  EXPECT_TRUE(say(stream, kApp, 1).states.empty()) << "nothing more is heard";
  EXPECT_TRUE(drain(stream).empty());

  link.lost(stream);
  reconnect(stream);
  EXPECT_EQ(link.welcomed(), 1U) << "it was upgraded";
}

TEST_F(AutoscalerLinkTest, AMessageOutOfOrderIsRefused) {
  const Stream early = *link.add();
  link.connected(early, {});
  const Stream twice = welcomed();

  EXPECT_TRUE(say(early, kApp, 1).refused.has_value());
  EXPECT_TRUE(link.received(twice, proto::Welcome{}).refused.has_value());
}

TEST_F(AutoscalerLinkTest, AStateAppliesByItsVersion) {
  const Stream stream = welcomed();

  EXPECT_EQ(say(stream, kApp, 5).states.size(), 1U);
  EXPECT_TRUE(say(stream, kApp, 4).states.empty());
  EXPECT_TRUE(say(stream, kApp, 5).states.empty());
  EXPECT_EQ(say(stream, kApp, 6).states.size(), 1U);

  EXPECT_EQ(link.state(kApp)->version, 6U);
  EXPECT_EQ(link.counts().stale, 1U);
}

TEST_F(AutoscalerLinkTest, StatesStayWhenTheStreamIsLost) {
  const Stream stream = welcomed();
  (void)say(stream, kApp, 5);

  link.lost(stream);
  EXPECT_NE(link.state(kApp), nullptr);
  link.remove(stream);

  EXPECT_NE(link.state(kApp), nullptr);
}

TEST_F(AutoscalerLinkTest, ARevisionMissingFromASnapshotIsDropped) {
  const Stream stream = welcomed();
  (void)say(stream, kApp, 5);
  (void)say(stream, kWeb, 6);
  (void)link.received(stream, proto::SnapshotEnd{2});

  link.lost(stream);
  reconnect(stream);
  (void)say(stream, kWeb, 6);
  const auto heard = link.received(stream, proto::SnapshotEnd{1});

  EXPECT_EQ(heard.gone, std::vector<RevisionId>{kApp});
  EXPECT_EQ(link.state(kApp), nullptr);
  EXPECT_NE(link.state(kWeb), nullptr);
}

TEST_F(AutoscalerLinkTest, ASnapshotLeavesRevisionsOfAnotherReplicaUnchanged) {
  const Stream first = welcomed();
  const Stream second = welcomed();
  (void)say(first, kApp, 5);

  const auto heard = link.received(second, proto::SnapshotEnd{0});

  EXPECT_TRUE(heard.gone.empty());
  EXPECT_NE(link.state(kApp), nullptr);
}

TEST_F(AutoscalerLinkTest, TheNextOwnerOfABucketRemovesRevisionsThatItsSnapshotOmits) {
  const std::vector<std::string> all{"b-0", "b-1"};
  const std::string bucket = ring::bucket_owner(all, "default/app-00001");
  const std::string other = bucket == "b-0" ? "b-1" : "b-0";
  const Stream gone = welcomed({all, all, 1});
  (void)say(gone, kApp, 5);
  link.remove(gone);

  const Stream stranger = welcomed({all, {other}, 2});
  EXPECT_TRUE(link.received(stranger, proto::SnapshotEnd{0}).gone.empty());
  const Stream successor = welcomed({all, {bucket}, 2});

  EXPECT_EQ(link.received(successor, proto::SnapshotEnd{0}).gone, std::vector<RevisionId>{kApp});
}

TEST_F(AutoscalerLinkTest, AReplicaThatGivesABucketAwayRemovesNoRevision) {
  const std::vector<std::string> all{"b-0"};
  const Stream old = welcomed({all, all, 1});
  (void)say(old, kApp, 5, {"10.0.0.1:8012"});

  (void)link.received(old, proto::Buckets{all, {}, 1});

  EXPECT_TRUE(link.received(old, proto::RevisionGone{kApp, 6}).gone.empty());
  EXPECT_TRUE(link.received(old, proto::SnapshotEnd{0}).gone.empty());
  ASSERT_NE(link.state(kApp), nullptr);
  const Stream successor = welcomed({all, all, 2});
  EXPECT_EQ(say(successor, kApp, 1ULL << 33U).states.size(), 1U);
  EXPECT_TRUE(link.received(old, proto::RevisionGone{kApp, 1ULL << 34U}).gone.empty());
}

TEST_F(AutoscalerLinkTest, AFormerOwnerThatReconnectsRemovesNoRevisionOfTheNewOwner) {
  const std::vector<std::string> all{"b-0"};
  const Stream old = welcomed({all, all, 1});
  (void)say(old, kApp, 5);
  (void)link.received(old, proto::SnapshotEnd{1});
  link.lost(old);
  reconnect(old, {all, {}, 2});

  EXPECT_TRUE(link.received(old, proto::SnapshotEnd{0}).gone.empty());
  EXPECT_NE(link.state(kApp), nullptr);
}

TEST_F(AutoscalerLinkTest, ARevisionIsRemovedOnlyByTheReplicaThatSentIt) {
  const Stream first = welcomed();
  const Stream second = welcomed();
  (void)say(first, kApp, 5);

  EXPECT_TRUE(link.received(second, proto::RevisionGone{kApp, 9}).gone.empty());
  EXPECT_TRUE(link.received(first, proto::RevisionGone{kApp, 5}).gone.empty());
  EXPECT_EQ(link.received(first, proto::RevisionGone{kApp, 6}).gone, std::vector<RevisionId>{kApp});
}

TEST_F(AutoscalerLinkTest, StatsAreSentOnceASecondWithTheirTimestamp) {
  const Stream stream = welcomed();
  const std::vector<RevisionStat> stats{stat(kApp, 1.5)};
  const std::vector<proto::Waiting> waiting{{kApp, 3, {}}};

  link.tick(stats, waiting, now);
  const proto::StatBatch first = batch(stream);
  link.tick({}, {}, now + seconds{1});
  const proto::StatBatch second = batch(stream);

  EXPECT_EQ(first.sequence, 1U);
  ASSERT_EQ(first.messages.size(), 1U);
  EXPECT_EQ(first.messages[0].revision, kApp);
  const proto::Stat expected{.pod_name = "activator-1",
                             .average_concurrent_requests = 1.5,
                             .request_count = 2,
                             .timestamp = 1'700'000'000};
  EXPECT_EQ(first.messages[0].stat, expected);
  EXPECT_EQ(first.waiting, waiting);
  EXPECT_EQ(second, (proto::StatBatch{2, {}, {}})) << "a batch with nothing in it says we live";
}

TEST_F(AutoscalerLinkTest, TheNewestUnsentBatchIsKept) {
  const Stream stream = welcomed();
  const std::vector<RevisionStat> old{stat(kApp)};
  const std::vector<RevisionStat> newer{stat(kWeb)};

  link.tick(old, {}, now);
  link.tick(newer, {}, now + seconds{1});
  const proto::StatBatch sent = batch(stream);

  ASSERT_EQ(sent.messages.size(), 1U);
  EXPECT_EQ(sent.messages[0].revision, kWeb);
  EXPECT_EQ(sent.sequence, 2U) << "the other end sees the gap";
  EXPECT_EQ(link.counts().replaced, 1U);
}

TEST_F(AutoscalerLinkTest, APokeIsSentAtOnce) {
  const Stream stream = welcomed();

  link.poke({kApp, 1, 1}, {kApp, 1, {}}, now);
  const proto::StatBatch sent = batch(stream);

  ASSERT_EQ(sent.messages.size(), 1U);
  EXPECT_EQ(sent.messages[0].stat.average_concurrent_requests, 1);
  ASSERT_EQ(sent.waiting.size(), 1U);
  EXPECT_EQ(sent.waiting[0].revision, kApp);
}

TEST_F(AutoscalerLinkTest, APokeThatDoesNotFitIsSentWithTheNextTick) {
  const Stream stream = welcomed();
  const std::vector<RevisionStat> stats{stat(kWeb)};
  const std::vector<proto::Waiting> waiting{{kApp, 1, {}}};

  link.poke({kApp, 1, 1}, {kApp, 1, {}}, now);
  link.tick(stats, waiting, now);
  const proto::StatBatch sent = batch(stream);

  EXPECT_EQ(sent.sequence, 1U) << "nothing was lost";
  EXPECT_EQ(sent.messages.size(), 2U);
  EXPECT_EQ(sent.waiting, waiting);
}

TEST_F(AutoscalerLinkTest, APokeWithoutAnOwnerIsSentToTheNextOwner) {
  link.poke({kApp, 1, 1}, {kApp, 1, {}}, now);

  const Stream stream = welcomed();
  const Stream later = *link.add();
  const std::vector<proto::Waiting> waiting{{kApp, 1, {}}};
  link.connected(later, waiting);

  EXPECT_EQ(std::get<proto::Hello>(drain(later).front()).waiting, waiting);
  link.tick({}, waiting, now);
  EXPECT_EQ(batch(stream).waiting, waiting);
}

TEST_F(AutoscalerLinkTest, AWelcomeIsAnsweredWithTheWaitingRequests) {
  const Stream stream = *link.add();
  link.connected(stream, {});
  (void)drain(stream);
  link.poke({kApp, 1, 1}, {kApp, 1, {}}, now);  // between Hello and Welcome: no owner yet

  (void)link.received(stream, proto::Welcome{});

  EXPECT_EQ(batch(stream).waiting.size(), 1U);
}

TEST_F(AutoscalerLinkTest, EachReplicaReceivesTheStatsOfItsBuckets) {
  const std::vector<std::string> all{"b-0", "b-1"};
  const Stream zero = welcomed({all, {"b-0"}, 1});
  const Stream one = welcomed({all, {"b-1"}, 1});
  std::vector<RevisionStat> stats;
  std::vector<proto::Waiting> waiting;
  for (int i = 0; i < 50; ++i) {
    const RevisionId revision{"default", "app-" + std::to_string(i)};
    stats.push_back(stat(revision));
    waiting.push_back({revision, 1, {}});
  }

  link.tick(stats, waiting, now);

  std::size_t told = 0;
  for (const auto& [stream, bucket] : {std::pair{zero, "b-0"}, std::pair{one, "b-1"}}) {
    const proto::StatBatch sent = batch(stream);
    EXPECT_EQ(sent.messages.size(), sent.waiting.size());
    told += sent.messages.size();
    for (const proto::StatMessage& each : sent.messages) {
      EXPECT_EQ(ring::bucket_owner(all, "default/" + each.revision.name), bucket);
    }
  }
  EXPECT_EQ(told, 50U);
}

TEST_F(AutoscalerLinkTest, OfTwoReplicasThatClaimABucketTheEpochDecides) {
  const Stream old = welcomed({{"b-0"}, {"b-0"}, 4});
  const Stream successor = welcomed({{"b-0"}, {"b-0"}, 5});
  const std::vector<RevisionStat> stats{stat(kApp)};

  link.tick(stats, {}, now);

  EXPECT_TRUE(batch(old).messages.empty());
  EXPECT_EQ(batch(successor).messages.size(), 1U);
}

TEST_F(AutoscalerLinkTest, ABucketThatMovesTakesItsWaitingRequestsAlong) {
  const Stream first = welcomed({{"b-0"}, {"b-0"}, 1});
  const Stream second = welcomed({{"b-0"}, {}, 1});
  const std::vector<proto::Waiting> waiting{{kApp, 1, {}}};
  link.tick({}, waiting, now);
  (void)drain(first);
  (void)drain(second);

  (void)link.received(second, proto::Buckets{{"b-0"}, {"b-0"}, 2});

  EXPECT_EQ(batch(second).waiting, waiting) << "at once, not with the next tick";
}

TEST_F(AutoscalerLinkTest, StatsThatDoNotFitInOneMessageAreSentInSeveral) {
  const Stream stream = welcomed();
  const std::string longest(proto::kNameBytesMax, 'n');
  std::vector<RevisionStat> stats;
  std::vector<proto::Waiting> waiting;
  for (int i = 0; i < 5000; ++i) {
    const RevisionId revision{longest, longest.substr(6) + std::to_string(100'000 + i)};
    stats.push_back(stat(revision));
    waiting.push_back({revision, 1, {}});
  }

  link.tick(stats, waiting, now);
  const auto messages = drain(stream);

  EXPECT_GT(messages.size(), 4U);
  std::uint64_t sequence = 0;
  std::size_t told = 0;
  std::size_t held = 0;
  for (const auto& message : messages) {
    const auto& part = std::get<proto::StatBatch>(message);
    EXPECT_EQ(part.sequence, ++sequence);
    EXPECT_LT(part.messages.size() * 600 + part.waiting.size() * 550,
              AutoscalerLink::kPartBytesMax + 600);
    told += part.messages.size();
    held += part.waiting.size();
  }
  EXPECT_EQ(told, 5000U);
  EXPECT_EQ(held, 5000U);
}

TEST_F(AutoscalerLinkTest, AChangeOfAvoidedPodsIsConfirmedOnceItIsApplied) {
  const Stream stream = welcomed();
  (void)say(stream, kApp, 5, {"10.0.0.1:80"});
  EXPECT_TRUE(confirmed(stream).empty());

  link.applied(kApp, 5);

  EXPECT_EQ(confirmed(stream), std::vector<std::uint64_t>{5});
}

TEST_F(AutoscalerLinkTest, AnEmptyAvoidListIsConfirmedOnlyAfterANonEmptyOne) {
  const Stream stream = welcomed();
  (void)say(stream, kApp, 5);
  link.applied(kApp, 5);
  (void)say(stream, kApp, 6);
  link.applied(kApp, 6);
  EXPECT_TRUE(confirmed(stream).empty());

  (void)say(stream, kApp, 7, {"10.0.0.1:80"});
  link.applied(kApp, 7);
  (void)say(stream, kApp, 8);
  link.applied(kApp, 8);

  EXPECT_EQ(confirmed(stream), (std::vector<std::uint64_t>{8, 8}));
}

// In between, the set may have been another, in a state that the sender never had room to send.
TEST_F(AutoscalerLinkTest, TheSameAvoidListInALaterStateIsConfirmedAgain) {
  const Stream stream = welcomed();
  (void)say(stream, kApp, 5, {"10.0.0.1:80"});
  link.applied(kApp, 5);
  EXPECT_EQ(confirmed(stream), std::vector<std::uint64_t>{5});

  (void)say(stream, kApp, 7, {"10.0.0.1:80"});
  link.applied(kApp, 7);

  EXPECT_EQ(confirmed(stream), std::vector<std::uint64_t>{7});
}

TEST_F(AutoscalerLinkTest, AReplacedStateIsConfirmedByTheOneThatReplacesIt) {
  const Stream stream = welcomed();
  (void)say(stream, kApp, 5, {"10.0.0.1:80"});
  (void)say(stream, kApp, 6, {"10.0.0.1:80"});

  link.applied(kApp, 5);
  EXPECT_TRUE(confirmed(stream).empty());
  link.applied(kApp, 6);

  EXPECT_EQ(confirmed(stream), std::vector<std::uint64_t>{6});
}

TEST_F(AutoscalerLinkTest, AConfirmationIsRepeatedOnANewStream) {
  const Stream stream = welcomed();
  (void)say(stream, kApp, 5, {"10.0.0.1:80"});
  link.applied(kApp, 5);
  link.lost(stream);  // perhaps before it was sent

  reconnect(stream);
  EXPECT_TRUE(say(stream, kApp, 5, {"10.0.0.1:80"}).states.empty());

  EXPECT_EQ(confirmed(stream), std::vector<std::uint64_t>{5});
}

TEST_F(AutoscalerLinkTest, TheNextOwnerReceivesTheConfirmationOfTheAppliedState) {
  const Stream gone = welcomed();
  (void)say(gone, kApp, 5, {"10.0.0.1:80"});
  link.applied(kApp, 5);
  (void)drain(gone);
  link.remove(gone);
  const Stream successor = welcomed();

  (void)say(successor, kApp, 6, {"10.0.0.1:80"});
  link.applied(kApp, 6);

  EXPECT_EQ(confirmed(successor), std::vector<std::uint64_t>{6});
}

TEST_F(AutoscalerLinkTest, StreamsHaveALimit) {
  for (std::size_t i = 0; i < AutoscalerLink::kStreamsMax; ++i) ASSERT_TRUE(link.add().has_value());

  EXPECT_FALSE(link.add().has_value());
}

TEST_F(AutoscalerLinkTest, MessagesOfARemovedStreamAreIgnored) {
  const Stream stream = welcomed();
  link.remove(stream);

  EXPECT_TRUE(say(stream, kApp, 1).states.empty());
  EXPECT_FALSE(link.next_message(stream).has_value());
  link.connected(stream, {});
  link.lost(stream);
  EXPECT_EQ(link.welcomed(), 0U);
}

}  // namespace
}  // namespace sluice::activator
