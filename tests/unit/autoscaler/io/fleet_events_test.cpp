// What the events and the API show of a fleet.

#include "autoscaler/io/api.h"
#include "autoscaler/io/time_text.h"
#include "tests/unit/autoscaler/io/fleet_stage.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <vector>

namespace sluice::autoscaler {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class FleetEventsTest : public FleetTest {
 protected:
  void pods(const std::vector<std::string>& states, std::optional<std::int32_t> chosen = {}) {
    model::Revision revision;
    revision.id = kShop;
    revision.service = "shop";
    revision.chosen = chosen;
    add_pods(revision, states);
    fleet_.on_revision(std::move(revision));
  }

  // What was published since the last call, of those types.
  std::vector<json> events(const std::vector<std::string>& types) {
    std::vector<json> all;
    for (const auto& event : ring_.after(seen_, {.types = types}).events) {
      all.push_back(json::parse(event->data()));
    }
    seen_ = ring_.last_id();
    return all;
  }

  // The same of replicas, as "pod-1 ready".
  std::vector<std::string> replicas() {
    std::vector<std::string> all;
    for (const json& event : events({"replica"})) {
      all.push_back(event["id"].get<std::string>() + " " + event["state"].get<std::string>());
    }
    return all;
  }

  using Texts = std::vector<std::string>;

  std::uint64_t seen_ = 0;
  Api api_ = api_of("replica");
  const ServiceName shop_{"shop", "shop"};
};

TEST_F(FleetEventsTest, ObjectsThatExistAtTheStartCauseNoEvent) {
  pods({"ready"});
  EXPECT_TRUE(events({"replica", "service"}).empty());
  events_.begin();
  pods({"ready"});
  EXPECT_TRUE(events({"replica", "service"}).empty());
}

TEST_F(FleetEventsTest, AReplicaHasEventsFromItsStartToItsEnd) {
  events_.begin();
  platform_.replicas = 1;
  pods({});
  pods({"starting"});
  EXPECT_EQ(replicas(), Texts{"pod-1 starting"});
  pods({"ready"});
  EXPECT_EQ(replicas(), Texts{"pod-1 ready"});
  pods({"ready"});
  EXPECT_EQ(replicas(), Texts{});
  pods({"going"});
  EXPECT_EQ(replicas(), Texts{"pod-1 draining"});
  pods({});
  EXPECT_EQ(replicas(), Texts{"pod-1 stopped"});
}

TEST_F(FleetEventsTest, AReplicaThatEndsByItselfHasExited) {
  events_.begin();
  platform_.replicas = 1;
  pods({"ready"});
  pods({});
  EXPECT_EQ(replicas(), Texts{"pod-1 exited"});
}

TEST_F(FleetEventsTest, AFailedReplicaHasAReason) {
  events_.begin();
  platform_.replicas = 1;
  pods({"starting"});
  events({});
  pods({"exit status 1"});
  const auto told = events({"replica", "service"});
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0]["type"] == "service" ? told[0]["state"] : told[1]["state"], "failing");
  EXPECT_EQ(told[0].value("why", ""), "exit status 1");
}

TEST_F(FleetEventsTest, AServiceHasAnEventWhenItsStateChanges) {
  events_.begin();
  platform_.replicas = 1;
  pods({"starting"});
  json added = events({"service"}).at(0);
  EXPECT_EQ(added["event"], "added");
  EXPECT_EQ(added["state"], "starting");
  EXPECT_EQ(added["namespace"], "shop");
  EXPECT_FALSE(added.contains("replicas"));
  pods({"ready"});
  const json awake = events({"service"}).at(0);
  EXPECT_EQ(awake["state"], "awake");
  EXPECT_FALSE(awake.contains("event"));
  fleet_.on_revision_gone(kShop);
  EXPECT_EQ(events({"service"}).at(0)["event"], "removed");
}

TEST_F(FleetEventsTest, ARevisionHidesNoServiceOfItsNameAndIsFoundByItsOwn) {
  model::Revision first;
  first.id = {"shop", "app-00001"};
  first.service = "app";
  model::Revision hidden;
  hidden.id = {"shop", "app-00001-00001"};
  hidden.service = "app-00001";
  fleet_.on_revision(std::move(first));
  fleet_.on_revision(std::move(hidden));

  const auto found = [this](const char* name) { return api_.service({"shop", name})->at("name"); };
  EXPECT_EQ(found("app-00001"), "app-00001");
  EXPECT_EQ(found("app-00001-00001"), "app-00001");
  EXPECT_EQ(found("app"), "app");
  fleet_.on_revision_gone({"shop", "app-00001-00001"});
  EXPECT_EQ(found("app-00001"), "app");
}

// What nobody read when it happened says later what was true then, though all of it has changed.
TEST_F(FleetEventsTest, AnEventThatIsReadLateHasTheValuesOfItsTime) {
  events_.begin();
  platform_.replicas = 1;
  pods({"starting"});
  const std::string then = format_time(clock_.now());
  time_.run_for(10s);
  pods({"ready"});
  load(100);
  fleet_.on_revision_gone(kShop);

  const auto services = events({"service"});
  ASSERT_EQ(services.size(), 3U);
  EXPECT_EQ(services[0]["state"], "starting");
  EXPECT_EQ(services[0]["starting"], 1);
  EXPECT_EQ(services[0]["time"], then);
  EXPECT_EQ(services[1]["state"], "awake");
  EXPECT_EQ(services[2]["event"], "removed");
}

TEST_F(FleetEventsTest, ADecisionIsPublishedAndKept) {
  runs("Deployment/a", 1);
  load(700);
  const json decision = events({"decision"}).back();
  EXPECT_EQ(decision["bounded"], 10);
  const auto history = api_.history({"shop", "web"}, {});
  ASSERT_TRUE(history);
  EXPECT_EQ(records_of(*history).back()["bounded"], 10);
  const auto explained = api_.explain({"shop", "web"}, clock_.now());
  ASSERT_TRUE(explained);
  EXPECT_EQ((*explained)["bounded"], 10);
  EXPECT_TRUE((*explained)["inputs"].contains("min"));
  EXPECT_FALSE(explained->contains("keeps_awake"));
}

TEST_F(FleetEventsTest, AColdStartIsPublishedKeptAndShown) {
  pods({"ready"});
  EXPECT_TRUE((*api_.service(shop_))["last_cold_start_ms"].is_null());

  fleet_.heard({.cold_start = proto::ColdStart{.revision = kShop,
                                               .pod = "10.0.0.1:8012",
                                               .queue = std::chrono::milliseconds{2},
                                               .ready = std::chrono::microseconds{40'460},
                                               .first_byte = std::chrono::microseconds{1'260}}});

  const json event = events({"cold_start"}).at(0);
  EXPECT_EQ(event["replica"], "pod-1");
  EXPECT_EQ(event["service"], "shop");
  EXPECT_EQ(event["total_ms"], 44);
  EXPECT_EQ(event["phases_ms"]["ready"], 40);
  EXPECT_EQ(event["phases_ms"]["first_byte"], 1.3);
  EXPECT_EQ((*api_.service(shop_))["last_cold_start_ms"], 44);
  EXPECT_EQ((*api_.explain(shop_, std::nullopt))["last_cold_start"], event);
  model::Revision of;
  of.id = kShop;
  EXPECT_EQ(history_.cold_start_at(of, clock_.now()), event);
  EXPECT_FALSE(history_.cold_start_at(of, clock_.now() - std::chrono::seconds{1}));
}

TEST_F(FleetEventsTest, AWrongAnnotationIsAWarning) {
  model::Revision revision;
  revision.id = kShop;
  revision.annotations = {{"autoscaling.knative.dev/target", "-7"}};
  fleet_.on_revision(std::move(revision));
  const json warning = events({"warning"}).at(0);
  EXPECT_NE(warning["message"].get<std::string>().find("annotation"), std::string::npos);
  EXPECT_TRUE(warning.contains("fix"));
}

TEST_F(FleetEventsTest, AChangedSpecIsAnEventAndOtherPodsAreNoChangeOfIt) {
  events_.begin();
  model::Revision revision;
  revision.id = kShop;
  revision.service = "shop";
  add_pods(revision, {"ready"});
  fleet_.on_revision(revision);
  add_pods(revision, {"ready"});
  fleet_.on_revision(revision);
  for (const json& event : events({"service"})) EXPECT_NE(event.value("event", ""), "changed");
  revision.annotations = {{"autoscaling.knative.dev/target", "10"}};
  fleet_.on_revision(revision);
  const std::vector<json> changed = events({"service"});
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0]["event"], "changed");
  EXPECT_EQ(changed[0]["service"], "shop");
  EXPECT_DOUBLE_EQ(changed[0]["target"].get<double>(), 7);  // 70 % are aimed at
}

TEST_F(FleetEventsTest, ThePressureOfANodeIsAnEventOfNoService) {
  proto::NodeReport report;
  report.node = "n1";
  report.pressure = proto::NodePressure::high;
  static_cast<void>(nodes_.hear(std::move(report), clock_.now()));
  events_.pressure_changed("n1", nodes_.nodes().at("n1"));
  const json event = events({"memory"}).at(0);
  EXPECT_EQ(event["node"], "n1");
  EXPECT_EQ(event["pressure"], "high");
  EXPECT_EQ(event["why"], "on node n1");
  EXPECT_FALSE(event.contains("service"));
}

TEST_F(FleetEventsTest, WakeAndSleepChangeTheOrder) {
  platform_.replicas = 0;
  pods({});
  ASSERT_TRUE(api_.wake(shop_));
  EXPECT_EQ(platform_.applied.replicas, 1);
  pods({"ready"});
  ASSERT_TRUE(api_.sleep(shop_));
  EXPECT_EQ(platform_.applied.replicas, 0);
}

TEST_F(FleetEventsTest, TheReplicaThatGovernsAMissingServiceIsNamed) {
  pods({});
  EXPECT_EQ(api_.service({"shop", "other"}).error().fix, "there are shop/shop");
  Api shared{{.name = "replica", .version = "1", .platform = "test", .started = {}},
             {.fleet = fleet_,
              .seen = events_,
              .history = history_,
              .hub = hub_,
              .nodes = &nodes_,
              .placement = placement_,
              .events = ring_,
              .elsewhere = [](const RevisionId& id) { return id.name + "-holder at 10.0.0.5"; }}};

  const auto missing = shared.wake({"shop", "other"});

  EXPECT_EQ(missing.error().status, 404);
  EXPECT_EQ(
      missing.error().fix,
      "if it exists, autoscaler other-holder at 10.0.0.5 governs it; here there are shop/shop");
}

TEST_F(FleetEventsTest, ADrainingRevisionOfARemovedServiceIsNotListed) {
  pods({"ready"});
  model::Revision draining = fleet_.revisions().at(kShop)->facts();
  draining.retired = true;
  draining.in_service = false;
  fleet_.on_revision(std::move(draining));
  const auto answer = api_.service({kShop.space, "shop"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().status, 404);
}

TEST_F(FleetEventsTest, ASleepThatNoRequestCouldEndIsRefused) {
  platform_.replicas = 1;
  pods({"ready"});
  connected_ = false;
  const auto refused = api_.sleep(shop_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 409);
  EXPECT_EQ(refused.error().type, "no-activator");
  EXPECT_EQ(platform_.applied.replicas, 1);
}

TEST_F(FleetEventsTest, BoundsSetByHandStayUntilTheSettingsChange) {
  platform_.replicas = 1;
  pods({"ready"});
  ASSERT_TRUE(api_.scale(shop_, {.min = 3, .max = std::nullopt}));
  EXPECT_EQ(platform_.applied.replicas, 3);
  pods({"ready", "ready"});
  EXPECT_EQ(platform_.applied.replicas, 3);
  EXPECT_EQ(fleet_.revisions().at(kShop)->bounds().min, 3);
  ASSERT_FALSE(fleet_.on_config({{"stable-window", "30s"}}));
  EXPECT_EQ(fleet_.revisions().at(kShop)->bounds().min, 0);
}

TEST_F(FleetEventsTest, BoundsThatDoNotFitTogetherAreRefused) {
  pods({});
  ASSERT_TRUE(api_.scale(shop_, {.min = std::nullopt, .max = 2}));
  const auto refused = api_.scale(shop_, {.min = 3, .max = std::nullopt});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 422);
}

TEST_F(FleetEventsTest, AServiceScaledByHandElsewhereIsNotChanged) {
  pods({}, 2);
  const auto refused = api_.wake(shop_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().type, "chosen-by-hand");
}

}  // namespace
}  // namespace sluice::autoscaler
