// Goal: a roll-over keeps the capacity of a service: old replicas share the requests of the new
// revision, and one goes for each new one that is ready (one-machine.md 5.7).
// Method: as in process_platform_test.cpp.

#include "tests/unit/platform/process/process_stage.h"

namespace sluice::local {
namespace {

using RollOverTest = ProcessStage;

TEST_F(RollOverTest, OldReplicasShareTheRequestsOfTheNewRevisionAndGoOneForOne) {
  put(spec());
  order("app-00001", 3);
  ready({"app-00001-1", "app-00001-2", "app-00001-3"});
  put(changed("b"));
  order("app-00002", 3);
  ready({"app-00002-1"});
  EXPECT_EQ(shared(), "app-00001-1 app-00001-2 app-00001-3");
  EXPECT_EQ(listener_.revisions.at("app-00001").chosen, 2);

  order("app-00001", 2, {{"app-00001-1"}});
  turn();
  EXPECT_EQ(shared(), "app-00001-2 app-00001-3");
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
  ready({"app-00002-2"});
  EXPECT_EQ(listener_.revisions.at("app-00001").chosen, 1);
  ready({"app-00002-3"});
  EXPECT_EQ(shared(), "");
  EXPECT_EQ(said("app-00001"), "retired 2 ready 0 starting 1 leaving");
}

TEST_F(RollOverTest, AnOldReplicaThatGoesIsNoPodOfTheNewRevisionBeforeItIsStopped) {
  put(spec());
  order("app-00001", 2);
  ready({"app-00001-1", "app-00001-2"});
  put(changed("b"));
  order("app-00002", 2);
  ready({"app-00002-1"});
  order("app-00001", 1, {{"app-00001-1"}});
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  listener_.diary.clear();
  turn();
  EXPECT_EQ(listener_.diary, (std::vector<std::string>{"app-00002", "app-00001"}));
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
}

TEST_F(RollOverTest, OldReplicasGoWhenTheLoadOfTheNewRevisionNeedsFewer) {
  put(spec());
  order("app-00001", 3);
  ready({"app-00001-1", "app-00001-2", "app-00001-3"});
  put(changed("b"));
  order("app-00002", 3);
  ready({"app-00002-1"});
  order("app-00002", 1, {{"app-00002-2"}, {"app-00002-3"}});
  turn();
  turn();
  EXPECT_EQ(said("app-00001"), "retired 3 ready 0 starting 0 leaving");
  EXPECT_EQ(shared(), "");
}

TEST_F(RollOverTest, ARollOverDuringARollOverKeepsTheNewestOfTheOldReplicas) {
  put(spec());
  order("app-00001", 2);
  ready({"app-00001-1", "app-00001-2"});
  put(changed("b"));
  order("app-00002", 2);
  ready({"app-00002-1"});
  put(changed("c"));
  EXPECT_EQ(listener_.revisions.at("app-00003").initial, 3);
  order("app-00003", 2);
  ready({"app-00003-1"});
  EXPECT_EQ(listener_.revisions.at("app-00002").chosen, 1);
  EXPECT_TRUE(listener_.revisions.at("app-00001").retired);
}

TEST_F(RollOverTest, ANewRevisionStartsWhenAMoveThatShiftsIsOver) {
  put(spec());
  order("app-00001", 3);
  ready({"app-00001-1", "app-00001-2", "app-00001-3"});
  platform_.apply({"default", "app-00001"}, {.replicas = 3, .shifting = true, .beside = 1});
  put(changed("b"));
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 2);
  order("app-00002", 1);
  turn();
  EXPECT_EQ(there(), "app-00001-1 app-00001-2 app-00001-3");
  EXPECT_EQ(amiss(), "app-00002 starting: it starts when app-00001 has been moved");

  order("app-00001", 3);
  turn();
  ready({"app-00002-1"});
  EXPECT_EQ(platform_.find("app")->current->name(), "app-00002");
}

TEST_F(RollOverTest, AReplicaWhoseRequestsHaveHadTheirTimeIsStoppedWithThem) {
  put(spec());
  order("app-00001", 2);
  ready({"app-00001-1", "app-00001-2"});
  requests_.on_pods["app-00001-1"] = requests_.on_pods["app-00001-2"] = 1;

  platform_.apply({"default", "app-00001"},
                  {.remove = {{"app-00001-1"}, {"app-00001-2"}}, .overdue = {{"app-00001-2"}}});
  turn();

  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  EXPECT_EQ(replica("app-00001-2").stopped, 1);
}

TEST_F(RollOverTest, ANewRevisionDoesNotWaitForAMoveThatHasNotShifted) {
  serve_by_one();
  platform_.apply({"default", "app-00001"}, {.replicas = 2, .beside = 1});
  put(changed("b"));
  order("app-00002", 1);
  turn();
  ready({"app-00002-1"});
  EXPECT_EQ(platform_.find("app")->current->name(), "app-00002");
}

TEST_F(RollOverTest, AnInitialScaleIsReadyBeforeTheNewRevisionServesThoughTheOldOneSleeps) {
  put(spec());
  ServiceSpec next = changed("b");
  next.template_annotations["autoscaling.knative.dev/initial-scale"] = "2";
  put(next);
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 2);
  EXPECT_EQ(platform_.find("app")->current->name(), "app-00001");
  order("app-00002", 2);
  ready({"app-00002-1"});
  EXPECT_EQ(platform_.find("app")->current->name(), "app-00002");
}

TEST_F(RollOverTest, WhatServesInThePlaceOfOneThatWasGivenUpDoesSoAfterARestart) {
  const TemporaryDirectory state;
  const auto start = [&] {
    auto platform = std::make_unique<ProcessPlatform>(means_, cluster_, directory_.path(),
                                                      RevisionNumbers{state.path()},
                                                      KeptRevisions{state.path()});
    EXPECT_FALSE(platform->open(listener_, loop_.now(), [](const std::optional<Problem>&) {}));
    return platform;
  };
  auto platform = start();
  EXPECT_TRUE(platform->put(spec()));
  platform->apply({"default", "app-00001"}, {.replicas = 1, .remove = {}});
  ready({"app-00001-1"});
  EXPECT_TRUE(platform->put(changed("b")));
  platform->apply({"default", "app-00002"}, {.replicas = 1, .remove = {}});
  fail_start("app-00002", 3);
  platform = nullptr;
  platform = start();
  EXPECT_TRUE(platform->put(changed("b")));
  EXPECT_EQ(platform->find("app")->current->name(), "app-00001");
  EXPECT_EQ(platform->find("app")->next->name(), "app-00002");
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 1);

  platform->apply({"default", "app-00002"}, {.replicas = 1, .remove = {}});
  ready({"app-00002-1"});
  EXPECT_EQ(platform->find("app")->current->name(), "app-00002");
  EXPECT_EQ(RevisionNumbers{state.path()}.serving("app"), 0);
}

}  // namespace
}  // namespace sluice::local
