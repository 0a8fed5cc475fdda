#include "autoscaler/core/nodes/node_book.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <limits>
#include <variant>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMiB = 1 << 20;
const RevisionId kOther{"default", "other"};

proto::NodeReport report(const std::string& node, std::int64_t admit) {
  proto::NodeReport made;
  made.node = node;
  made.sequence = 7;
  made.admit_bytes = admit;
  return made;
}

class NodeBookTest : public ::testing::Test {
 protected:
  bool hear(proto::NodeReport report, TimePoint now = kStart) {
    const auto heard = book_.hear(std::move(report), now);
    return std::get<NodeBook::Heard>(heard).changed;
  }

  // Asks until nothing is put off any more: starts are spaced.
  std::int32_t granted(const RevisionId& revision, std::int32_t wanted, std::int32_t ordered = 0,
                       std::int32_t settled = 0) {
    while (true) {
      now_ += kStartSpacing;
      const NodeBook::Granted answer = ask(revision, wanted, ordered, settled);
      if (!answer.spaced) return answer.replicas;
      ordered = answer.replicas;
    }
  }

  NodeBook::Granted ask(const RevisionId& revision, std::int32_t wanted, std::int32_t ordered = 0,
                        std::int32_t settled = 0) {
    return book_.grant(revision, {.wanted = wanted,
                                  .ordered = ordered,
                                  .settled = settled,
                                  .claim = 100 * kMiB,
                                  .now = now_});
  }

  NodeBook book_;
  TimePoint now_ = kStart;
};

TEST_F(NodeBookTest, GrantsEverythingWithoutAnAgent) {
  EXPECT_EQ(granted(kApp, 1000), 1000);
}

TEST_F(NodeBookTest, GrantsTheTotalThatAllNodesAdmit) {
  hear(report("n1", 250 * kMiB));
  hear(report("n2", 150 * kMiB));
  EXPECT_EQ(granted(kApp, 10), 4);
  now_ += kStartSpacing;
  const NodeBook::Granted whole = ask(kApp, 2);
  EXPECT_FALSE(whole.bounded);
  EXPECT_EQ(whole.free, 400 * kMiB);
}

TEST_F(NodeBookTest, KeepsAGrantReservedUntilItHasSettled) {
  hear(report("n1", 300 * kMiB));
  EXPECT_EQ(granted(kApp, 2), 2);
  EXPECT_EQ(granted(kOther, 2), 1);
  // One of them runs now, and its memory is in the reports.
  EXPECT_EQ(granted(kApp, 2, 2, 1), 2);
  EXPECT_EQ(granted(kOther, 2, 1), 2);
}

TEST_F(NodeBookTest, FreesGrantsOfUnwantedReplicasAndDroppedRevisions) {
  hear(report("n1", 200 * kMiB));
  EXPECT_EQ(granted(kApp, 2), 2);
  EXPECT_EQ(granted(kOther, 2), 0);
  EXPECT_EQ(granted(kApp, 1, 1), 1);
  EXPECT_EQ(granted(kOther, 2), 1);
  book_.forget(kApp);
  EXPECT_EQ(granted(kOther, 2, 1), 2);
}

TEST_F(NodeBookTest, KeepsGrantedReplicasWhenTheGateCloses) {
  hear(report("n1", 0));
  EXPECT_EQ(granted(kApp, 5, 3, 0), 3);
  EXPECT_EQ(granted(kApp, 2, 2, 0), 2);
}

// Row 69c of memory-pressure.md 9.
TEST_F(NodeBookTest, OfTwelveStartsInOneTickOneIsGrantedPerNode) {
  hear(report("n1", 2000 * kMiB));
  hear(report("n2", 2000 * kMiB));
  hear(report("shut", 0));

  const NodeBook::Granted first = ask(kApp, 12);
  EXPECT_EQ(first.replicas, 2);
  EXPECT_TRUE(first.spaced);
  EXPECT_FALSE(first.bounded);
  EXPECT_EQ(ask(kOther, 1).replicas, 0);

  now_ += kStartSpacing - std::chrono::milliseconds{1};
  EXPECT_EQ(ask(kApp, 12, 2).replicas, 2);
  now_ += std::chrono::milliseconds{1};
  EXPECT_EQ(ask(kOther, 1).replicas, 1);
  EXPECT_EQ(ask(kApp, 12, 2).replicas, 3);
}

TEST_F(NodeBookTest, RunningReplicasAreNotCountedAsStarts) {
  hear(report("n1", 2000 * kMiB));
  EXPECT_EQ(ask(kApp, 5, 0, 5).replicas, 5);
  EXPECT_EQ(ask(kOther, 3, 2, 0).replicas, 3);
}

TEST_F(NodeBookTest, NodesWithoutAGateDoNotSpaceStarts) {
  hear(report("n1", std::numeric_limits<std::int64_t>::max()));
  hear(report("n2", 100 * kMiB));
  EXPECT_EQ(ask(kApp, 12).replicas, 12);
}

TEST_F(NodeBookTest, AClockThatStepsBackDelaysNoStart) {
  hear(report("n1", 2000 * kMiB));
  EXPECT_EQ(ask(kApp, 1).replicas, 1);
  now_ -= seconds{100};
  EXPECT_EQ(ask(kOther, 1).replicas, 1);
}

TEST_F(NodeBookTest, NamesPodsThatAreThrottledWhileTheyAre) {
  proto::NodeReport pressed = report("n1", 0);
  pressed.throttled.push_back(
      {.pod_uid = "u", .space = "default", .pod = "app-1", .container = "c"});
  EXPECT_TRUE(hear(pressed));
  EXPECT_FALSE(hear(pressed));
  EXPECT_TRUE(book_.throttled("default", "app-1", ""));
  EXPECT_FALSE(book_.throttled("other", "app-1", ""));
  EXPECT_TRUE(hear(report("n1", 0)));
  EXPECT_FALSE(book_.throttled("default", "app-1", ""));
}

TEST_F(NodeBookTest, AcceptsAThrottledPodFromTheAgentOfItsOwnNodeOnly) {
  proto::NodeReport forged = report("n2", 0);
  forged.throttled.push_back(
      {.pod_uid = "u", .space = "default", .pod = "app-1", .container = "c"});
  hear(forged);
  EXPECT_FALSE(book_.throttled("default", "app-1", "n1"));
  EXPECT_TRUE(book_.throttled("default", "app-1", "n2"));
  forged.node = "n1";
  hear(forged);
  EXPECT_TRUE(book_.throttled("default", "app-1", "n1"));
}

TEST_F(NodeBookTest, CountsASilentNodeAsOneWithoutAnAgent) {
  proto::NodeReport pressed = report("n1", 0);
  pressed.throttled.push_back(
      {.pod_uid = "u", .space = "default", .pod = "app-1", .container = "c"});
  hear(pressed);
  EXPECT_FALSE(book_.look(kStart + NodeBook::kSilence - seconds{1}));
  EXPECT_EQ(granted(kApp, 1), 0);
  EXPECT_TRUE(book_.look(kStart + NodeBook::kSilence));
  EXPECT_EQ(granted(kApp, 1), 1);
  EXPECT_FALSE(book_.throttled("default", "app-1", ""));
  EXPECT_TRUE(book_.nodes().at("n1").silent);
  EXPECT_TRUE(hear(pressed, kStart + seconds{60}));
  EXPECT_TRUE(book_.throttled("default", "app-1", ""));
}

TEST_F(NodeBookTest, DropsANodeThatWasReplaced) {
  hear(report("n1", 0));
  (void)book_.look(kStart + NodeBook::kSilence);
  (void)book_.look(kStart + NodeBook::kForgotten - seconds{1});
  EXPECT_EQ(book_.nodes().size(), 1U);
  (void)book_.look(kStart + NodeBook::kForgotten);
  EXPECT_TRUE(book_.nodes().empty());
}

TEST_F(NodeBookTest, HasRoomForANewNodeWhileAnyIsSilent) {
  for (std::size_t i = 0; i < NodeBook::kNodesMax; ++i) hear(report("n" + std::to_string(i), 0));
  EXPECT_TRUE(std::holds_alternative<NodeBook::Refused>(book_.hear(report("new", 0), kStart)));
  hear(report("n0", kMiB), kStart + seconds{20});
  (void)book_.look(kStart + NodeBook::kSilence);
  hear(report("new", kMiB), kStart + NodeBook::kSilence);
  EXPECT_EQ(book_.nodes().size(), NodeBook::kNodesMax);
  EXPECT_TRUE(book_.nodes().contains("n0"));
  EXPECT_EQ(book_.reporting(), 2U);
}

TEST_F(NodeBookTest, KeepsFewEntriesOfAnEndlessReportAndCountsThemAll) {
  proto::NodeReport endless = report("n1", 0);
  for (int i = 0; i < 1000; ++i) {
    endless.throttled.push_back(
        {.pod_uid = "u", .space = "default", .pod = "p" + std::to_string(i), .container = "c"});
  }
  EXPECT_TRUE(hear(endless));
  EXPECT_EQ(book_.nodes().at("n1").report.throttled.size(), NodeBook::kShownMax);
  EXPECT_EQ(book_.nodes().at("n1").throttled, 1000U);
  EXPECT_TRUE(book_.throttled("default", "p999", ""));
  EXPECT_FALSE(hear(endless));
}

TEST_F(NodeBookTest, TreatsAPodAsThrottledWhileAnyNodeReportsIt) {
  proto::NodeReport pressed = report("n1", 0);
  pressed.throttled.push_back(
      {.pod_uid = "u", .space = "default", .pod = "app-1", .container = "c"});
  hear(pressed);
  pressed.node = "n2";
  hear(pressed);
  EXPECT_EQ(book_.throttled_pods(), 1U);
  hear(report("n1", 0));
  EXPECT_TRUE(book_.throttled("default", "app-1", ""));
  hear(report("n2", 0));
  EXPECT_FALSE(book_.throttled("default", "app-1", ""));
}

TEST_F(NodeBookTest, IgnoresAgentsInADryRun) {
  proto::NodeReport dry = report("n1", 0);
  dry.dry_run = true;
  dry.throttled.push_back({.pod_uid = "u", .space = "default", .pod = "app-1", .container = "c"});
  hear(dry);
  EXPECT_EQ(granted(kApp, 3), 3);
  EXPECT_FALSE(book_.throttled("default", "app-1", ""));
}

TEST_F(NodeBookTest, RefusesAnotherProtocolAndNamesBoth) {
  proto::NodeReport later = report("n1", 0);
  later.protocol = 9;
  const auto heard = book_.hear(later, kStart);
  const auto* refused = std::get_if<NodeBook::Refused>(&heard);
  ASSERT_NE(refused, nullptr);
  EXPECT_TRUE(refused->wrong_protocol);
  EXPECT_EQ(refused->text, "protocol 9 is not 1");
}

TEST_F(NodeBookTest, HandlesImpossibleSizes) {
  for (int i = 0; i < 100; ++i) {
    hear(report("n" + std::to_string(i), std::numeric_limits<std::int64_t>::max()));
  }
  hear(report("less", std::numeric_limits<std::int64_t>::min()));
  EXPECT_GT(granted(kApp, std::numeric_limits<std::int32_t>::max()), 1'000'000);
  EXPECT_GE(granted(kOther, 3), 0);
}

}  // namespace
}  // namespace sluice::autoscaler
