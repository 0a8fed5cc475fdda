#include "autoscaler/core/nodes/node_book.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <variant>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMiB = 1 << 20;

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

  NodeBook book_;
};

TEST_F(NodeBookTest, TheGateOfANodeAdmitsWhatWasReported) {
  EXPECT_TRUE(hear(report("n1", 250 * kMiB)));
  EXPECT_EQ(book_.gates().admitted("n1"), 250 * kMiB);
  EXPECT_FALSE(hear(report("n1", 250 * kMiB)));
  EXPECT_TRUE(hear(report("n1", 0)));
  EXPECT_EQ(book_.gates().admitted("n1"), 0);
}

TEST_F(NodeBookTest, AnotherPressureIsNewsAndTheFirstOneIfItIsHigh) {
  const auto is_news = [this](const std::string& node, proto::NodePressure pressure) {
    proto::NodeReport made = report(node, 0);
    made.pressure = pressure;
    return std::get<NodeBook::Heard>(book_.hear(std::move(made), kStart)).other_pressure;
  };
  using Pressure = proto::NodePressure;
  EXPECT_FALSE(is_news("n1", Pressure::ok));
  EXPECT_FALSE(is_news("n1", Pressure::ok));
  EXPECT_TRUE(is_news("n1", Pressure::high));
  EXPECT_FALSE(is_news("n1", Pressure::high));
  EXPECT_TRUE(is_news("n1", Pressure::ok));
  EXPECT_TRUE(is_news("n2", Pressure::critical));
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
  EXPECT_EQ(book_.gates().size(), 1U);
  EXPECT_TRUE(book_.look(kStart + NodeBook::kSilence));
  EXPECT_EQ(book_.gates().size(), 0U);
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
  EXPECT_EQ(book_.gates().size(), 0U);
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

}  // namespace
}  // namespace sluice::autoscaler
