// Goal: services become revisions, and orders replicas, as one-machine.md 5 says; what the platform
// reports is what there is.
// Method: virtual time, replicas without processes, a listener that records its calls. The test
// orders what an autoscaler would.

#include "platform/process/process_platform.h"

#include "tests/unit/platform/process/process_stage.h"

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

using ProcessPlatformTest = ProcessStage;

// --- orders ---

TEST_F(ProcessPlatformTest, AnOrderStartsReplicasWithTheLowestFreeNumbersInItsOwnTurn) {
  put(spec());
  order("app-00001", 2);
  EXPECT_EQ(there(), "app-00001-1 app-00001-2");
  EXPECT_EQ(replica("app-00001-1").started, 1);
  turn();
  EXPECT_EQ(said("app-00001"), "serves 0 ready 2 starting 0 leaving");
}

TEST_F(ProcessPlatformTest, AReadyReplicaIsReportedInItsOwnTurnWithItsAddresses) {
  put(spec());
  order("app-00001", 1);
  replica("app-00001-1").becomes_ready();
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  const model::Pod pod = listener_.revisions.at("app-00001").pods.front();
  EXPECT_EQ(pod.address->text(), "unix:/run/app-00001-1/http");
  EXPECT_EQ(pod.stats->text(), "unix:/run/app-00001-1/stats");
  EXPECT_TRUE(pod.proven);
}

TEST_F(ProcessPlatformTest, TheUsualStartIsThatOfTheReplicasThatBecameReady) {
  put(spec());
  order("app-00001", 2);
  const ProcessRevision& revision = *platform_.revision({"default", "app-00001"});
  EXPECT_EQ(revision.usual_start(), std::nullopt);
  time_.run_for(3s);
  replica("app-00001-1").becomes_ready();
  EXPECT_EQ(revision.usual_start(), 3s);
  replica("app-00001-2").fails();
  turn();
  EXPECT_EQ(revision.usual_start(), 3s);
}

TEST_F(ProcessPlatformTest, TheSameOrderTwiceStartsNothingTwice) {
  put(spec());
  order("app-00001", 1);
  order("app-00001", 1);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessPlatformTest, AnOrderForLessStopsNothingThatItDoesNotName) {
  put(spec());
  order("app-00001", 2);
  ready({"app-00001-1", "app-00001-2"});
  order("app-00001", 1);
  turn();
  EXPECT_EQ(said("app-00001"), "serves 2 ready 0 starting 0 leaving");
}

TEST_F(ProcessPlatformTest, AReplicaThatHasToGoIsReportedBeforeItIsStopped) {
  serve_by_one();
  order("app-00001", 0, {{"app-00001-1"}});
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  turn();
  EXPECT_EQ(said("app-00001"), "serves 0 ready 0 starting 1 leaving");
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
}

TEST_F(ProcessPlatformTest, ADrainingReplicaWaitsForItsLastRequest) {
  serve_by_one();
  requests_.on_pods["app-00001-1"] = 1;
  order("app-00001", 0, {{"app-00001-1"}});
  turn();
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  requests_.on_pods.clear();
  platform_.revision({"default", "app-00001"})->on_pod_drained("unix:/run/app-00001-1/http");
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
}

TEST_F(ProcessPlatformTest, ADrainingReplicaIsStoppedAtTheTimeoutOfItsService) {
  serve_by_one();
  requests_.on_pods["app-00001-1"] = 1;
  order("app-00001", 0, {{"app-00001-1"}});
  time_.run_for(299s);
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  time_.run_for(1s);
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
}

TEST_F(ProcessPlatformTest, AnOrderForMoreWhileOneDrainsStartsAnotherOne) {
  serve_by_one();
  requests_.on_pods["app-00001-1"] = 1;
  order("app-00001", 0, {{"app-00001-1"}});
  turn();
  order("app-00001", 1);
  EXPECT_EQ(there(), "app-00001-1 app-00001-2");
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
}

TEST_F(ProcessPlatformTest, ARepeatedOrderDoesNotRestartTheDrain) {
  serve_by_one();
  requests_.on_pods["app-00001-1"] = 1;
  order("app-00001", 0, {{"app-00001-1"}});
  time_.run_for(200s);
  order("app-00001", 0, {{"app-00001-1"}});
  time_.run_for(100s);
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
}

TEST_F(ProcessPlatformTest, AStartingReplicaThatHasToGoIsStoppedWithoutWaiting) {
  put(spec());
  order("app-00001", 1);
  turn();
  order("app-00001", 0, {{"app-00001-1"}});
  turn();
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
  replica("app-00001-1").becomes_ready();
  EXPECT_EQ(said("app-00001"), "serves 0 ready 0 starting 1 leaving");
}

// --- numbers and room ---

TEST_F(ProcessPlatformTest, TheNumberOfAGoneReplicaIsFreeOnceItsEndIsReported) {
  serve_by_one();
  order("app-00001", 0, {{"app-00001-1"}});
  turn();
  replica("app-00001-1").is_gone();
  order("app-00001", 1);
  EXPECT_EQ(there(), "app-00001-2");
  turn();
  order("app-00001", 2);
  EXPECT_EQ(there(), "app-00001-1 app-00001-2");
}

TEST_F(ProcessPlatformTest, ReplicasOfAllServicesTogetherStayWithinTheMaximum) {
  settings_.max_replicas = 3;
  put(spec("app"));
  put(spec("web"));
  scale("app-00001", 2);
  scale("web-00001", 2);
  EXPECT_EQ(there(), "app-00001-1 app-00001-2 web-00001-1");
  EXPECT_EQ(platform_.replicas(), 3);
  EXPECT_EQ(ask("web-00001", 2).replicas, 1);
  EXPECT_EQ(ask("app-00001", 2).replicas, 2);
}

TEST_F(ProcessPlatformTest, AGoneReplicaMakesRoomForOneOfAnotherService) {
  settings_.max_replicas = 1;
  put(spec("app"));
  put(spec("web"));
  scale("app-00001", 1);
  scale("web-00001", 1);
  EXPECT_EQ(there(), "app-00001-1");
  order("app-00001", ask("app-00001", 0).replicas, {{"app-00001-1"}});
  EXPECT_EQ(ask("web-00001", 1).replicas, 0) << "it still runs";
  turn();
  replica("app-00001-1").is_gone();
  EXPECT_EQ(ask("app-00001", 0).replicas, 0);
  scale("web-00001", 1);
  EXPECT_EQ(there(), "web-00001-1");
}

TEST_F(ProcessPlatformTest, AServiceWithAFixedPortIsGrantedOneReplicaWhateverItsBounds) {
  ServiceSpec fixed = spec();
  fixed.fixed_port = 3000;
  put(fixed);
  EXPECT_EQ(ask("app-00001", 3).replicas, 1);
  EXPECT_EQ(ask("app-00001", 0).replicas, 0);
}

TEST_F(ProcessPlatformTest, AFixedPortSetsTheMaximumThatIsReportedToOne) {
  ServiceSpec fixed = spec();
  fixed.fixed_port = 3000;
  fixed.template_annotations[kMinScale] = "2";
  put(fixed);
  const auto& annotations = listener_.revisions.at("app-00001").annotations;
  EXPECT_EQ(annotations.at("autoscaling.knative.dev/max-scale"), "1");
  EXPECT_EQ(annotations.at(kMinScale), "1");
}

TEST_F(ProcessPlatformTest, AFixedPortCountsHoweverTheMinimumIsSpelt) {
  ServiceSpec fixed = spec();
  fixed.fixed_port = 3000;
  fixed.template_annotations["autoscaling.knative.dev/minScale"] = "2";
  put(fixed);
  const auto& annotations = listener_.revisions.at("app-00001").annotations;
  EXPECT_EQ(annotations.at("autoscaling.knative.dev/minScale"), "1");
}

// --- roll-over ---

TEST_F(ProcessPlatformTest, ANewTemplateStartsAsManyAsAreReadyAndServesWithTheFirstReady) {
  put(spec());
  order("app-00001", 3);
  ready({"app-00001-1", "app-00001-2"});
  put(changed("b"));
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 2);
  EXPECT_EQ(said("app-00002"), "waits 0 ready 0 starting 0 leaving");
  EXPECT_EQ(said("app-00001"), "serves 2 ready 1 starting 0 leaving");
  order("app-00002", 2);
  replica("app-00002-1").becomes_ready();
  EXPECT_EQ(said("app-00002"), "serves 1 ready 1 starting 0 leaving");
  EXPECT_EQ(listener_.revisions.at("app-00002").replaces, "app-00001");
  turn();
  EXPECT_EQ(said("app-00001"), "waits 2 ready 1 starting 0 leaving");
  EXPECT_EQ(listener_.revisions.at("app-00001").chosen, 1);
}

TEST_F(ProcessPlatformTest, ANewTemplateOfAServiceThatOnlyStartsStartsOne) {
  put(spec());
  order("app-00001", 2);
  put(changed("b"));
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 1);
}

TEST_F(ProcessPlatformTest, ANewTemplateOfASleepingServiceServesAtOnceWithoutReplicas) {
  put(spec());
  put(changed("b"));
  EXPECT_EQ(said("app-00002"), "serves 0 ready 0 starting 0 leaving");
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 0);
  turn();
  EXPECT_EQ(said("app-00001"), "unknown");
}

TEST_F(ProcessPlatformTest, ANewRevisionThatFailsThreeTimesLeavesTheOldOneServing) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  fail_start("app-00002", 3);
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  EXPECT_EQ(said("app-00002"), "unknown");
  EXPECT_EQ(events("error"), 1U);
  time_.run_for(60s);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessPlatformTest, ANewRevisionThatCannotBeMadeThreeTimesLeavesTheOldOneServing) {
  serve_by_one();
  refusal_ = Problem{"port 3000 is taken", "free it"};
  put(changed("b"));
  order("app-00002", 1);
  time_.run_for(10s);
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  EXPECT_EQ(said("app-00002"), "unknown");
  EXPECT_EQ(events("error"), 1U);
}

TEST_F(ProcessPlatformTest, ASpecWhoseRevisionWasGivenUpIsTriedAgainUnderItsNameWhenGivenAgain) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  fail_start("app-00002", 3);
  const auto again = platform_.put(changed("b"));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, Applied::unchanged);
  EXPECT_EQ(said("app-00002"), "waits 0 ready 0 starting 0 leaving");
  EXPECT_EQ(platform_.kept().numbers("app").size(), 2U);
}

TEST_F(ProcessPlatformTest, TheSpecThatStillServesGivenAgainAfterAFailedOneBeginsNoRevision) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  fail_start("app-00002", 3);
  put(spec());
  EXPECT_EQ(platform_.find("app")->newest().name(), "app-00001");
  EXPECT_EQ(platform_.find("app")->spec, spec());
}

ServiceSpec on_port(ServiceSpec spec, std::uint16_t port) {
  spec.fixed_port = port;
  return spec;
}

TEST_F(ProcessPlatformTest,
       ANewTemplateOnTheSameFixedPortServesAtOnceAndStartsWhenTheOldReplicaIsGone) {
  put(on_port(spec(), 3000));
  order("app-00001", 1);
  ready({"app-00001-1"});
  requests_.on_pods["app-00001-1"] = 1;
  put(on_port(changed("b"), 3000));
  EXPECT_EQ(said("app-00002"), "serves 0 ready 0 starting 0 leaving");
  EXPECT_EQ(listener_.revisions.at("app-00002").initial, 1);
  EXPECT_EQ(listener_.revisions.at("app-00002").replaces, "app-00001");
  requests_.held["app-00002"] = 1;
  order("app-00002", 1);
  order("app-00001", 0, {{"app-00001-1"}});
  time_.run_for(60s);
  EXPECT_EQ(there(), "app-00001-1");
  EXPECT_EQ(replica("app-00001-1").stopped, 0);

  requests_.on_pods.clear();
  platform_.revision({"default", "app-00001"})->on_pod_drained("unix:/run/app-00001-1/http");
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
  time_.run_for(5s);
  EXPECT_EQ(there(), "app-00001-1");
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(there(), "app-00002-1");
  EXPECT_EQ(events("warning") + events("error"), 0U);
}

TEST_F(ProcessPlatformTest, ANewTemplateOnAnotherPortTakesOverWhenItIsReady) {
  put(on_port(spec(), 3000));
  order("app-00001", 1);
  ready({"app-00001-1"});
  put(on_port(changed("b"), 3001));
  order("app-00002", 1);
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  EXPECT_EQ(there(), "app-00001-1 app-00002-1");
}

TEST_F(ProcessPlatformTest, AReplicaOfAFixedPortWaitsForTheOneThatDrains) {
  put(on_port(spec(), 3000));
  order("app-00001", 1);
  ready({"app-00001-1"});
  requests_.on_pods["app-00001-1"] = 1;
  order("app-00001", 0, {{"app-00001-1"}});
  order("app-00001", 1);
  turn();
  EXPECT_EQ(there(), "app-00001-1");
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(there(), "app-00001-2");
}

TEST_F(ProcessPlatformTest, AServiceAddedAgainWaitsForTheFixedPortOfItsPredecessor) {
  put(on_port(spec(), 3000));
  order("app-00001", 1);
  ready({"app-00001-1"});
  platform_.remove("app");
  put(on_port(spec(), 3000));
  order("app-00002", 1);
  turn();
  EXPECT_EQ(there(), "app-00001-1");
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(there(), "app-00002-1");
}

TEST_F(ProcessPlatformTest, AnotherTemplateDuringARollOverReplacesThePendingOne) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  put(changed("c"));
  turn();
  EXPECT_EQ(said("app-00002"), "retired 0 ready 1 starting 0 leaving");
  replica("app-00002-1").becomes_ready();
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  order("app-00003", 1);
  replica("app-00003-1").becomes_ready();
  EXPECT_EQ(said("app-00003"), "serves 1 ready 0 starting 0 leaving");
  EXPECT_EQ(listener_.revisions.at("app-00003").replaces, "app-00001");
}

TEST_F(ProcessPlatformTest, LiveSettingsDuringARollOverReachBothRevisionsAndNeitherTemplate) {
  serve_by_one();
  put(changed("b"));
  ServiceSpec live = changed("b");
  live.template_annotations[kMinScale] = "1";
  put(live);
  EXPECT_EQ(listener_.revisions.at("app-00001").annotations.at(kMinScale), "1");
  EXPECT_EQ(listener_.revisions.at("app-00002").annotations.at(kMinScale), "1");
  EXPECT_EQ(listener_.revisions.size(), 2U);
  order("app-00001", 2);
  EXPECT_EQ(replica("app-00001-2").plan.spec.args, std::vector<std::string>{});
}

TEST_F(ProcessPlatformTest, TheSameSpecAgainChangesNothing) {
  put(spec());
  const auto again = platform_.put(spec());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, Applied::unchanged);
  EXPECT_EQ(listener_.diary, std::vector<std::string>{"app-00001"});
}

TEST_F(ProcessPlatformTest, AReplacedRevisionIsRemovedWithItsLastReplica) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  ready({"app-00002-1"});
  order("app-00001", 0, {{"app-00001-1"}});
  turn();
  EXPECT_EQ(said("app-00001"), "retired 0 ready 0 starting 1 leaving");
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(said("app-00001"), "unknown");
  EXPECT_EQ(platform_.revision({"default", "app-00001"}), nullptr);
}

TEST_F(ProcessPlatformTest, AReplacedRevisionStartsNothingForOneThatEnds) {
  put(spec());
  order("app-00001", 2);
  ready({"app-00001-1", "app-00001-2"});
  put(changed("b"));
  order("app-00002", 2);
  ready({"app-00002-1"});
  time_.run_for(2s);
  replica("app-00001-1").exits();
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(there(), "app-00001-2 app-00002-1 app-00002-2");
}

// --- removal ---

TEST_F(ProcessPlatformTest, ARemovedServiceLosesItsHostsAtOnceAndIsRemovedWithItsLastReplica) {
  serve_by_one();
  EXPECT_TRUE(platform_.remove("app"));
  EXPECT_TRUE(listener_.revisions.at("app-00001").hosts.empty());
  EXPECT_EQ(said("app-00001"), "retired 1 ready 0 starting 0 leaving");
  EXPECT_EQ(platform_.find("app"), nullptr);
  EXPECT_FALSE(platform_.remove("app"));
  order("app-00001", 0, {{"app-00001-1"}});
  turn();
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(said("app-00001"), "unknown");
}

TEST_F(ProcessPlatformTest, AServiceOfTheSameNameWhileTheOldOneDrainsContinuesItsNumbers) {
  serve_by_one();
  requests_.on_pods["app-00001-1"] = 1;
  platform_.remove("app");
  order("app-00001", 0, {{"app-00001-1"}});
  turn();
  put(spec());
  EXPECT_EQ(said("app-00002"), "serves 0 ready 0 starting 0 leaving");
  EXPECT_EQ(said("app-00001"), "retired 0 ready 0 starting 1 leaving");
  EXPECT_EQ(listener_.revisions.at("app-00002").replaces, "");
  replica("app-00001-1").exits();
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(said("app-00001"), "unknown");
  EXPECT_EQ(said("app-00002"), "serves 0 ready 0 starting 0 leaving");
}

TEST_F(ProcessPlatformTest,
       ARemovedServiceThatSleepsIsGoneInTheNextTurnAndItsNumberIsNotUsedAgain) {
  put(spec());
  platform_.remove("app");
  turn();
  EXPECT_EQ(said("app-00001"), "unknown");
  put(spec());
  EXPECT_EQ(said("app-00002"), "serves 0 ready 0 starting 0 leaving");
}

TEST_F(ProcessPlatformTest, RemovalDuringARollOverRetiresBothRevisions) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  platform_.remove("app");
  turn();
  EXPECT_EQ(said("app-00001"), "retired 1 ready 0 starting 0 leaving");
  EXPECT_EQ(said("app-00002"), "retired 0 ready 1 starting 0 leaving");
}

}  // namespace
}  // namespace sluice::local
