#include "autoscaler/core/nodes/node_book.h"
#include "tests/unit/autoscaler/io/fleet_stage.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;

using std::chrono::seconds;

// Of one target alone: what follows is not for want of removals.
TEST_F(FleetTest, PodsBeyondTheWantedNumberAreRemoved) {
  runs("Deployment/a", 1);
  watch("Deployment/a", 3);
  EXPECT_EQ(order(), "1 without 2 avoiding 2");
}

TEST_F(FleetTest, AnotherTargetKeepsItsReplicasAndNoneOfItsPodsIsChosen) {
  runs("Deployment/a", 1);
  load(1);
  ASSERT_EQ(order(), "1 without 0 avoiding 0");

  runs("Deployment/b", 10);
  EXPECT_EQ(order(), "10 without 0 avoiding 0");

  load(1);
  EXPECT_EQ(order(), "10 without 0 avoiding 0");
  EXPECT_EQ(fleet_.revisions().at(kShop)->counts().ready, 10);
  EXPECT_EQ(loop_.size(), 1U);
}

TEST_F(FleetTest, ATargetThatReplacesASleepingOneIsNotPutToSleep) {
  runs("Deployment/a", 0);
  evaluate();
  ASSERT_EQ(order(), "0 without 0 avoiding 0");

  runs("StatefulSet/b", 10);
  evaluate();

  EXPECT_EQ(order(), "10 without 0 avoiding 0");
}

TEST_F(FleetTest, OnlyARequestHeldSinceTheOrderToSleepEndsTheSleep) {
  runs("Deployment/a", 1);
  time_.run_for(10s);
  Revision& revision = *fleet_.revisions().at(kShop);
  revision.sleep();
  time_.run_for(500ms);
  const Stat began{.average_concurrency = 1.5, .request_count = 4};

  fleet_.heard({.stats = {{kShop, began, clock_.now()}}, .held = {{kShop, 600ms}}});
  EXPECT_EQ(revision.want(), 0);

  fleet_.heard({.stats = {{kShop, began, clock_.now()}}, .held = {{kShop, 400ms}}});
  EXPECT_EQ(revision.want(), 1);
}

TEST_F(FleetTest, TheFirstRequestAfterAnOrderToSleepEndsItThoughOlderOnesAreHeld) {
  runs("Deployment/a", 1);
  time_.run_for(10s);
  Revision& revision = *fleet_.revisions().at(kShop);
  revision.sleep();
  time_.run_for(500ms);
  const Stat began{.average_concurrency = 4.5, .request_count = 1};

  fleet_.heard({.stats = {{kShop, began, clock_.now(), 501ms}},
                .held = {{.revision = kShop, .oldest = 9s}}});
  EXPECT_EQ(revision.want(), 0);

  fleet_.heard({.stats = {{kShop, began, clock_.now(), 499ms}},
                .held = {{.revision = kShop, .oldest = 9s}}});
  EXPECT_EQ(revision.want(), 1);
}

TEST_F(FleetTest, AnotherTargetGrowsByItsOwnLoad) {
  runs("Deployment/a", 1);
  runs("Deployment/b", 10);

  load(1400);  // 70 for each, as they are wanted by default

  EXPECT_EQ(order(), "20 without 0 avoiding 0");
}

TEST_F(FleetTest, LoadOfThePreviousTargetIsDropped) {
  runs("Deployment/a", 1);
  load(700);
  ASSERT_EQ(order(), "10 without 0 avoiding 0");

  runs("Deployment/b", 2);
  evaluate();

  EXPECT_EQ(order(), "2 without 0 avoiding 0");
}

TEST_F(FleetTest, ATargetThatReturnsIsTheSameTarget) {
  runs("Deployment/a", 1);
  load(700);
  watch("", 0);
  runs("Deployment/a", 1);
  EXPECT_EQ(order(), "10 without 0 avoiding 0");
}

TEST_F(FleetTest, AnotherTargetIsRecognizedAfterAGapWithoutATarget) {
  runs("Deployment/a", 1);
  load(1);
  watch("", 0);
  runs("Deployment/b", 10);
  EXPECT_EQ(order(), "10 without 0 avoiding 0");
}

// Goal: settings that change together with the target are in force at once, as its own.
TEST_F(FleetTest, AnotherTargetBeginsWithTheSettingsThatCameWithIt) {
  runs("Deployment/a", 1);
  platform_.replicas = 10;
  model::Revision revision;
  revision.id = kShop;
  revision.target = "Deployment/b";
  revision.annotations = {{"autoscaling.knative.dev/target", "7"}};
  fleet_.on_revision(std::move(revision));
  EXPECT_EQ(fleet_.revisions().at(kShop)->last().bounded, 10);

  load(70);  // 4.9 for each

  EXPECT_EQ(order(), "15 without 0 avoiding 0");
}

// What activators receive about pods that fail to start.
class FailingStartsTest : public FleetTest {
 protected:
  FailingStartsTest() { platform_.replicas = 2; }

  void pods(const std::vector<std::string>& states) {
    model::Revision revision;
    revision.id = kShop;
    add_pods(revision, states);
    fleet_.on_revision(std::move(revision));
  }

  // `granted of desired`, and why it cannot grow.
  [[nodiscard]] std::string told() const {
    const proto::RevisionState& state = *hub_.state(kShop);
    std::string text = std::to_string(state.granted) + " of " + std::to_string(state.desired);
    if (!state.cannot_scale) return text;
    const bool failed = state.cannot_scale->reason == proto::CannotScaleReason::start_failed;
    return text + (failed ? ", failed: " : ", else: ") + state.cannot_scale->detail;
  }
};

TEST_F(FailingStartsTest, NothingIsGrantedWhileEveryPodFailsAndTheReplicasStayOrdered) {
  pods({"exit status 1", "exit status 2"});
  EXPECT_EQ(told(), "0 of 2, failed: the service fails to start: exit status 1");
  EXPECT_GT(hub_.state(kShop)->cannot_scale->retry_after, Duration{0});
  EXPECT_EQ(order(), "2 without 0 avoiding 0");
  EXPECT_EQ(platform_.applied.report.start_failed, "exit status 1");
  EXPECT_EQ(platform_.applied.report.granted, 2);
}

TEST_F(FailingStartsTest, ClientsGetTheFailureAsItIsMeantForThem) {
  model::Revision revision;
  revision.id = kShop;
  revision.start_failure = {.why = "it ended with exit code 1: a secret",
                            .retry_at = clock_.now() + seconds{4},
                            .for_clients = "it ended with exit code 1"};
  fleet_.on_revision(std::move(revision));
  EXPECT_EQ(told(), "0 of 2, failed: the service fails to start: it ended with exit code 1");
  EXPECT_EQ(fleet_.revisions().at(kShop)->start_failure(), "it ended with exit code 1: a secret");
}

TEST_F(FailingStartsTest, OnePodThatIsReadyOrMayBecomeReadyKeepsTheGrant) {
  pods({"exit status 1", "starting"});
  EXPECT_EQ(told(), "2 of 2");
  pods({"exit status 1", "ready"});
  EXPECT_EQ(told(), "2 of 2");
}

TEST_F(FailingStartsTest, AStartingPodBeyondTheWantedNumberKeepsTheGrantAndTheFailingOneLeaves) {
  platform_.replicas = 1;
  pods({"exit status 1"});
  ASSERT_EQ(told(), "0 of 1, failed: the service fails to start: exit status 1");
  pods({"exit status 1", "starting"});
  EXPECT_EQ(told(), "1 of 1");
  const auto& revision = *fleet_.revisions().at(kShop);
  EXPECT_TRUE(revision.leaving(revision.pods()[0]));
  EXPECT_FALSE(revision.leaving(revision.pods()[1]));
}

TEST_F(FailingStartsTest, TheFailureEndsWhenAPodIsReadyAndWhenTheFailingPodsAreGone) {
  pods({"exit status 1"});
  ASSERT_NE(told().find("failed"), std::string::npos);
  pods({"ready"});
  EXPECT_EQ(told(), "2 of 2");
  pods({"exit status 1"});
  ASSERT_NE(told().find("failed"), std::string::npos);
  pods({});
  EXPECT_EQ(told(), "2 of 2");
  EXPECT_EQ(platform_.applied.report.start_failed, "");
}

TEST_F(FailingStartsTest, ADetailIsCutToTheLimitOfItsMessage) {
  pods({std::string(5000, 'x')});
  EXPECT_EQ(hub_.state(kShop)->cannot_scale->detail.size(), proto::kDetailBytesMax);
}

TEST_F(FailingStartsTest, APlatformThatStartsPodsItselfRefusesRequestsUntilItsNextTry) {
  model::Revision revision;
  revision.id = kShop;
  revision.start_failure = {.why = "exit status 1", .retry_at = clock_.now() + seconds{4}};
  fleet_.on_revision(revision);
  EXPECT_EQ(told(), "0 of 2, failed: the service fails to start: exit status 1");
  EXPECT_EQ(hub_.state(kShop)->cannot_scale->retry_after, seconds{4});

  time_.run_for(seconds{5});

  EXPECT_EQ(told(), "2 of 2");
  EXPECT_EQ(fleet_.revisions().at(kShop)->start_failure(), "exit status 1");
}

TEST_F(FleetTest, AReplacingRevisionStartsWithAsManyReplicasAndKeepsOne) {
  model::Revision revision;
  revision.id = kShop;
  revision.initial = 3;
  revision.annotations = {{"autoscaling.knative.dev/initial-scale", "1"}};
  platform_.replicas.reset();
  fleet_.on_revision(revision);
  EXPECT_EQ(order(), "3 without 0 avoiding 0");
  EXPECT_TRUE(fleet_.revisions().at(kShop)->last().time == TimePoint{});
  evaluate();
  EXPECT_GE(platform_.applied.replicas, 1);
}

TEST_F(FleetTest, ARetiredRevisionLosesItsPodsWhateverIsReported) {
  runs("Deployment/a", 2);
  model::Revision revision = fleet_.revisions().at(kShop)->facts();
  for (const auto& pod : fleet_.revisions().at(kShop)->pods()) revision.pods.push_back(pod.watched);
  revision.retired = true;
  fleet_.on_revision(revision);
  EXPECT_EQ(order(), "0 without 2 avoiding 2");

  load(700);

  EXPECT_EQ(order(), "0 without 2 avoiding 2");
  EXPECT_FALSE(hub_.state(kShop)->cannot_scale);
}

TEST_F(FleetTest, ListsWhatIsInServiceInOrderAndWhatEachServiceHas) {
  const auto report = [this](const std::string& space, const std::string& name,
                             const std::string& service, bool in_service = true) {
    model::Revision revision;
    revision.id = {space, name};
    revision.service = service;
    revision.in_service = in_service;
    fleet_.on_revision(std::move(revision));
  };
  const auto serving = [this] {
    std::string names;
    for (const Revision* each : fleet_.serving()) names += each->facts().id.name + " ";
    return names;
  };
  const auto of = [this](const std::string& space, const std::string& service) {
    std::string names;
    for (const Revision* each : fleet_.of_service(space, service))
      names += each->facts().id.name + " ";
    return names;
  };
  report("shop", "web-00002", "web");
  report("shop", "pay-00001", "pay");
  report("depot", "web-00009", "web");
  report("shop", "web-00001", "web", false);
  EXPECT_EQ(serving(), "web-00009 pay-00001 web-00002 ");
  EXPECT_EQ(of("shop", "web"), "web-00001 web-00002 ");
  EXPECT_EQ(of("depot", "web"), "web-00009 ");
  EXPECT_EQ(of("depot", "pay"), "");

  report("shop", "web-00002", "web", false);
  report("shop", "web-00001", "web", true);
  report("shop", "pay-00001", "cash");
  EXPECT_EQ(serving(), "web-00009 pay-00001 web-00001 ");
  EXPECT_EQ(of("shop", "pay"), "");
  EXPECT_EQ(of("shop", "cash"), "pay-00001 ");

  fleet_.on_revision_gone({"shop", "web-00001"});
  fleet_.on_revision_released({"depot", "web-00009"});
  EXPECT_EQ(serving(), "pay-00001 ");
  EXPECT_EQ(of("shop", "web"), "web-00002 ");
  EXPECT_EQ(of("depot", "web"), "");
}

TEST_F(FleetTest, TheIdlestPodIsChosenByItsCurrentLoad) {
  around_.load_now = [](const RevisionId&, const PodId& pod) {
    return pod.name == "Deployment/a-0" ? 0.0 : 5.0;
  };
  runs("Deployment/a", 1);
  watch("Deployment/a", 3);
  ASSERT_EQ(platform_.applied.remove.size(), 2U);
  EXPECT_EQ(platform_.applied.remove[0], PodId{"Deployment/a-0"});
}

// A place with room for some replicas, whose shortage is reported after its patience limit.
class ScarceSite final : public placement::Site {
 public:
  ScarceSite() {
    const placement::PlaceId place = ledger_.add_place({.name = "home"});
    node_ = ledger_.add_node({.name = "home", .place = place});
    have(0);
  }

  void have(std::int64_t replicas) {
    placement::Node node = ledger_.node(node_);
    node.capacity.slots = replicas;
    ledger_.update_node(node_, node);
  }

  placement::Ledger& ledger() override { return ledger_; }

  [[nodiscard]] std::optional<placement::NodeId> find(std::string_view /*node*/) const override {
    return node_;
  }

  [[nodiscard]] bool reports_settled() const override { return false; }

  Terms terms(const RevisionId& /*revision*/, const placement::RevisionDemand& demand,
              std::int64_t /*held*/) override {
    const auto there = static_cast<std::int32_t>(demand.replicas.size());
    return {.most = demand.wanted, .there = there, .now = demand.wanted};
  }

  GateAnswer may_start(const RevisionId& /*revision*/, std::int32_t /*nth*/,
                       placement::NodeId /*node*/, const placement::Resources& /*each*/,
                       TimePoint /*now*/) override {
    return {};
  }

  std::int64_t on_start(placement::NodeId /*node*/, TimePoint /*now*/) override { return 0; }

  [[nodiscard]] std::optional<TimePoint> rested(
      const placement::Resources& /*each*/) const override {
    return std::nullopt;
  }

  void explain(const RevisionId& /*revision*/, const placement::RevisionDemand& /*demand*/,
               const placement::Refusal& /*refusal*/, placement::Missing& missing) override {
    missing.detail = "max-replicas 0 reached";
    missing.fix = "raise it";
    missing.patience = seconds{5};
  }

 private:
  placement::Ledger ledger_;
  placement::NodeId node_{};
};

class ScarceRoomTest : public FailingStartsTest {
 protected:
  ScarceSite site_;
  placement::Placement placement_of_site_{site_};
  NodeBook no_nodes_;
  Surroundings scarce_{.clock = clock_,
                       .stats = stats_,
                       .log = log_,
                       .loop = loop_,
                       .hub = hub_,
                       .placement = placement_of_site_,
                       .throttled = no_nodes_,
                       .platform = platform_,
                       .events = events_,
                       .random = random_,
                       .activator_connected = [] { return true; },
                       .news = [] {}};
  Fleet short_{scarce_};

  void exists() {
    model::Revision revision;
    revision.id = kShop;
    short_.on_revision(std::move(revision));
  }

  // "message | fix" of each.
  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> all;
    for (const auto& event : ring_.after(0, {.types = {"warning"}}).events) {
      const auto body = nlohmann::json::parse(event->data());
      all.push_back(body.value("message", "") + " | " + body.value("fix", ""));
    }
    return all;
  }
};

TEST_F(ScarceRoomTest, WhereNothingIsMovedAShortageIsWarnedOfAtOnceWithWhatHelps) {
  exists();

  EXPECT_EQ(warnings(), std::vector<std::string>{"there is no room for all requested replicas: "
                                                 "max-replicas 0 reached | raise it"});
}

TEST_F(ScarceRoomTest, AWarningOfAShortageNamesTheMovesThatMakeRoomInsteadOfAFix) {
  std::string moves;
  scarce_.on_shortage = [&moves] { moves = "room is being made in fast: pay -> slow (planned)"; };
  scarce_.room_is_made = [&moves](const RevisionId&) { return moves; };
  exists();
  EXPECT_EQ(warnings(), std::vector<std::string>{});

  time_.run_for(seconds{10});

  EXPECT_EQ(warnings(), std::vector<std::string>{
                            "there is no room for all requested replicas: max-replicas 0 reached; "
                            "room is being made in fast: pay -> slow (planned) | "});
  EXPECT_EQ(told(), "0 of 2");
}

TEST_F(ScarceRoomTest, AShortageThatNoMoveEndsIsWarnedOfOnce) {
  scarce_.on_shortage = [] {};
  scarce_.room_is_made = [](const RevisionId&) { return std::string{}; };
  exists();

  time_.run_for(seconds{10});

  EXPECT_EQ(warnings(), std::vector<std::string>{"there is no room for all requested replicas: "
                                                 "max-replicas 0 reached | raise it"});
}

TEST_F(ScarceRoomTest, RequestsWaitForMemoryUntilTheLimitOfTheRoom) {
  exists();
  EXPECT_EQ(told(), "0 of 2");

  time_.run_for(seconds{6});

  EXPECT_EQ(told(), "0 of 2, else: max-replicas 0 reached");
  EXPECT_EQ(hub_.state(kShop)->cannot_scale->retry_after, seconds{10});
}

TEST_F(ScarceRoomTest, ADecisionThatIsNotGrantedIsExplainedAndPublishedAgainWhenItIs) {
  exists();
  const Revision& revision = *short_.revisions().at(kShop);
  EXPECT_EQ(revision.last().granted, 0);
  const std::size_t told_before = decisions();

  site_.have(2);
  short_.room_changed();

  EXPECT_EQ(revision.last().granted, 2);
  EXPECT_EQ(platform_.applied.replicas, 2);
  EXPECT_GE(decisions(), told_before);
}

}  // namespace
}  // namespace sluice::autoscaler
