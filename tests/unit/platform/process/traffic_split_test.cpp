// Goal: a service's traffic decides which of its revisions run and what each answers to, over
// roll-overs, ways back and failures.
// Method: that of process_platform_test.

#include "tests/unit/platform/process/process_stage.h"

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

/// Whose place was taken, in order.
class Succession final : public model::Listener {
 public:
  void on_revision(model::Revision revision) override {
    if (!revision.replaces.empty()) noted += revision.id.name + " for " + revision.replaces + " ";
  }

  void on_revision_gone(const RevisionId& /*revision*/) override {}

  std::string noted;
};

class TrafficSplit : public ProcessStage {
 protected:
  void choose(Traffic traffic) {
    const auto problem = platform_.choose_traffic("app", std::move(traffic));
    ASSERT_FALSE(problem) << problem->text();
    turn();
  }

  /// What a revision answers to: `app.localhost 90 %, stable-app.localhost`.
  [[nodiscard]] std::string answers(const std::string& revision) const {
    const auto found = listener_.revisions.find(revision);
    if (found == listener_.revisions.end()) return "unknown";
    std::string text;
    for (const auto& rule : found->second.hosts) {
      text += (text.empty() ? "" : ", ") + rule.host;
      if (found->second.percent) text += fmt::format(" {} %", *found->second.percent);
    }
    for (const auto& rule : found->second.own_hosts) text += (text.empty() ? "" : ", ") + rule.host;
    return text.empty() ? "nothing" : text;
  }

  /// Revision 2 serves in the place of revision 1, which is gone.
  void roll_over() {
    serve_by_one();
    put(changed("b"));
    order("app-00002", 1);
    replica("app-00002-1").becomes_ready();
    turn();
    order("app-00001", 0, {{"app-00001-1"}});
    turn();
    replica("app-00001-1").is_gone();
    turn();
    ASSERT_EQ(said("app-00001"), "unknown");
  }

  static Traffic all_to(const std::string& revision) {
    return {{.revision = revision, .percent = 100}};
  }
};

TEST_F(TrafficSplit, AnOlderRevisionIsThereAgainWithItsShareAndANameOfItsOwn) {
  roll_over();
  choose({{.revision = "app-00001", .percent = 90, .tag = "stable"}, {.percent = 10}});
  EXPECT_EQ(answers("app-00001"), "app.localhost 90 %, stable-app.localhost");
  EXPECT_EQ(answers("app-00002"), "app.localhost 10 %");
  EXPECT_EQ(listener_.revisions.at("app-00001").service, "app-00001");
  EXPECT_EQ(listener_.revisions.at("app-00002").service, "app");
  EXPECT_EQ(said("app-00001"), "serves 0 ready 0 starting 0 leaving");
  order("app-00001", 1);
  EXPECT_EQ(there(), "app-00001-1 app-00002-1");
  EXPECT_TRUE(replica("app-00001-1").plan.spec.args.empty());
}

TEST_F(TrafficSplit, ARevisionWithATagAloneRunsAndHasNoneOfTheServicesRequests) {
  roll_over();
  choose({{.percent = 100}, {.revision = "app-00001", .tag = "old"}});
  EXPECT_EQ(answers("app-00001"), "old-app.localhost");
  EXPECT_EQ(answers("app-00002"), "app.localhost");
}

TEST_F(TrafficSplit, TheLatestRevisionWithoutAShareStaysAndNothingKeepsItAwake) {
  roll_over();
  choose(all_to("app-00001"));
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  EXPECT_EQ(answers("app-00002"), "nothing");
  EXPECT_EQ(listener_.revisions.at("app-00002").reachability,
            autoscaler::Reachability::unreachable);
  EXPECT_EQ(said("app-00002"), "serves 1 ready 0 starting 0 leaving");
}

TEST_F(TrafficSplit, TheWayBackToTheLatestHandsOnWhatWaitsAndDrainsTheOlderOne) {
  roll_over();
  choose(all_to("app-00001"));
  order("app-00001", 1);
  ready({"app-00001-1"});
  requests_.on_pods["app-00001-1"] = 1;
  Succession succession;
  listener_.next = &succession;
  ASSERT_FALSE(platform_.choose_traffic("app", {{.percent = 100}}));
  listener_.next = nullptr;
  EXPECT_EQ(succession.noted, "app-00002 for app-00001 ");
  EXPECT_EQ(answers("app-00002"), "app.localhost");
  EXPECT_EQ(said("app-00001"), "retired 1 ready 0 starting 0 leaving");
  EXPECT_EQ(listener_.revisions.at("app-00001").service, "app");
}

TEST_F(TrafficSplit, ARevisionThatDrainsIsTakenBack) {
  roll_over();
  choose(all_to("app-00001"));
  order("app-00001", 1);
  ready({"app-00001-1"});
  choose({{.percent = 100}});
  EXPECT_EQ(said("app-00001"), "retired 1 ready 0 starting 0 leaving");
  choose(all_to("app-00001"));
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  order("app-00001", 2);
  EXPECT_EQ(there(), "app-00001-1 app-00001-2 app-00002-1");
}

TEST_F(TrafficSplit, ARollOverDoesNotMovePinnedTraffic) {
  serve_by_one();
  choose(all_to("app-00001"));
  ServiceSpec next = changed("b");
  next.template_annotations["autoscaling.knative.dev/initial-scale"] = "1";
  put(next);
  turn();
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, std::nullopt) << "its initial scale";
  EXPECT_EQ(said("app-00002"), "waits 0 ready 0 starting 0 leaving");
  order("app-00002", 1);
  ready({"app-00002-1"});
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  EXPECT_EQ(answers("app-00002"), "nothing");
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  EXPECT_EQ(platform_.find("app")->current->name(), "app-00002");
}

TEST_F(TrafficSplit, ANewRevisionWithoutAnInitialScaleIsTheLatestAtOnceWhereNoTrafficFollowsIt) {
  serve_by_one();
  choose(all_to("app-00001"));
  put(changed("b"));
  turn();
  EXPECT_EQ(platform_.find("app")->current->name(), "app-00002");
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  EXPECT_EQ(said("app-00002"), "serves 0 ready 0 starting 0 leaving");
}

TEST_F(TrafficSplit, WhatFollowsTheLatestMovesWhenTheNewOneIsReadyAndThePinnedPartStays) {
  serve_by_one();
  choose({{.revision = "app-00001", .percent = 20}, {.percent = 80}});
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  put(changed("b"));
  turn();
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 1);
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  order("app-00002", 1);
  ready({"app-00002-1"});
  EXPECT_EQ(answers("app-00001"), "app.localhost 20 %");
  EXPECT_EQ(answers("app-00002"), "app.localhost 80 %");
  EXPECT_EQ(shared(), "");
}

TEST_F(TrafficSplit, TrafficThatNamesARevisionWhichIsNotReadyWaitsForIt) {
  serve_by_one();
  ServiceSpec next = changed("b");
  next.traffic = {{.revision = "app-00002", .percent = 50},
                  {.revision = "app-00001", .percent = 50}};
  put(next);
  turn();
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  EXPECT_EQ(answers("app-00002"), "nothing");
  order("app-00002", 1);
  fail_start("app-00002", 3);
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  EXPECT_EQ(platform_.find("app")->given_up->revision, "app-00002");
}

TEST_F(TrafficSplit, ARevisionThatDoesNotStartGetsNoRequestsItDidNotHave) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  fail_start("app-00002", 3);
  const auto refused = platform_.choose_traffic("app", all_to("app-00002"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->what, "revision app-00002 does not start: exit status 3");
  EXPECT_EQ(answers("app-00001"), "app.localhost");
}

TEST_F(TrafficSplit, ARevisionThatDidNotStartIsReportedWhateverTrafficIsChosen) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  fail_start("app-00002", 3);
  choose(all_to("app-00001"));
  EXPECT_EQ(amiss(), "app-00002 given_up: exit status 3");
  const auto refused = platform_.choose_traffic("app", all_to("app-00009"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->fix, "name @latest or app-00001, app-00002");
  put(changed("b"));
  turn();
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 1) << "it is tried again";
  EXPECT_EQ(answers("app-00001"), "app.localhost");
}

TEST_F(TrafficSplit, ThoseThatServeBesideARevisionAreThoseOfTheTraffic) {
  using Names = std::vector<std::string>;
  roll_over();
  choose(all_to("app-00001"));
  ServiceSpec next = changed("c");
  next.template_annotations[kMinScale] = "1";
  put(next);
  turn();
  const ProcessService& service = *platform_.find("app");
  EXPECT_EQ(service.serving_beside("app-00003"), Names{"app-00001"})
      << "asleep, and not app-00002, which is ready and has no requests";
  EXPECT_EQ(service.serving_beside("app-00001"), Names{});
  choose({{.revision = "app-00001", .percent = 90}, {.percent = 10}});
  EXPECT_EQ(service.serving_beside("app-00003"), (Names{"app-00002", "app-00001"}));
  order("app-00001", 1);
  EXPECT_EQ(service.serving_beside("app-00003"), Names{"app-00002"});
}

TEST_F(TrafficSplit, ANameThatIsNotKeptChangesNothing) {
  roll_over();
  const auto refused = platform_.choose_traffic("app", all_to("app-00009"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->text(),
            "revision app-00009 of service app is not kept; name @latest or "
            "app-00001, app-00002");
  EXPECT_EQ(answers("app-00002"), "app.localhost");
  ServiceSpec spec = changed("c");
  spec.traffic = all_to("app-00009");
  EXPECT_FALSE(platform_.put(spec));
  spec.traffic = all_to("app-00003");
  EXPECT_TRUE(platform_.check(spec)) << "the name that this spec will have";
}

TEST_F(TrafficSplit, ASpecWithTrafficEndsWhatWasChosenAndOneWithoutKeepsIt) {
  roll_over();
  choose(all_to("app-00001"));
  ServiceSpec spec = changed("b");
  spec.template_annotations["autoscaling.knative.dev/max-scale"] = "3";
  put(spec);
  turn();
  EXPECT_EQ(answers("app-00001"), "app.localhost");
  spec.traffic = {{.percent = 100}};
  put(spec);
  turn();
  EXPECT_EQ(answers("app-00002"), "app.localhost");
  EXPECT_EQ(said("app-00001"), "unknown");
  spec.traffic.clear();
  put(spec);
  turn();
  EXPECT_EQ(answers("app-00002"), "app.localhost");
}

TEST_F(TrafficSplit, RevisionsOnOneFixedPortDoNotShare) {
  ServiceSpec fixed = spec();
  fixed.fixed_port = 3000;
  put(fixed);
  fixed.args = {"b"};
  put(fixed);
  turn();
  const auto refused =
      platform_.choose_traffic("app", {{.revision = "app-00001", .percent = 50}, {.percent = 50}});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->what,
            "service app: two revisions cannot listen on the fixed port 3000 together");
  EXPECT_FALSE(platform_.choose_traffic("app", all_to("app-00001")));
  EXPECT_EQ(listener_.revisions.at("app-00002").chosen, 0) << "it leaves the port";
  EXPECT_EQ(listener_.revisions.at("app-00001").chosen, std::nullopt);
}

TEST_F(TrafficSplit, UnusedRevisionsBeyondTenAreDroppedAndThoseWithTrafficAreKept) {
  put(spec());
  choose({{.percent = 100}, {.revision = "app-00001", .tag = "first"}});
  for (int i = 0; i < 13; ++i) {
    put(changed(std::to_string(i)));
    turn();
  }
  EXPECT_EQ(platform_.kept().numbers("app"),
            (std::vector{1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

TEST_F(TrafficSplit, ARemovedServiceDrainsAllOfItsRevisions) {
  roll_over();
  choose({{.revision = "app-00001", .percent = 50}, {.percent = 50}});
  order("app-00001", 1);
  ready({"app-00001-1"});
  platform_.remove("app");
  turn();
  for (const char* name : {"app-00001", "app-00002"}) {
    EXPECT_EQ(answers(name), "nothing");
    EXPECT_EQ(said(name), "retired 1 ready 0 starting 0 leaving");
    order(name, 0, {{std::string{name} + "-1"}});
  }
  turn();
  replica("app-00001-1").is_gone();
  replica("app-00002-1").is_gone();
  turn();
  EXPECT_TRUE(listener_.revisions.empty());
  EXPECT_TRUE(platform_.kept().numbers("app").empty());
}

TEST_F(TrafficSplit, AProgramThatIsGoneFailsWhereItHasTrafficAndChangesNothingElse) {
  ServiceSpec first = spec();
  const auto program = directory_.path() / "program";
  std::filesystem::copy_file("/bin/sh", program);
  first.command = {program.string()};
  put(first);
  put(changed("b"));
  turn();
  std::filesystem::remove(program);
  choose({{.revision = "app-00001", .percent = 50}, {.percent = 50}});
  EXPECT_EQ(answers("app-00001"), "app.localhost 50 %");
  EXPECT_EQ(answers("app-00002"), "app.localhost 50 %");
}

}  // namespace
}  // namespace sluice::local
