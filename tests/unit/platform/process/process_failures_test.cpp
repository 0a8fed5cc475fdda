// Goal: starts that fail are tried again as one-machine.md 5.4 and 5.5 say, and memory, shutdown
// and failures end replicas in the right order. Method: as in process_platform_test.cpp.

#include "tests/unit/platform/process/process_stage.h"

#include <filesystem>
#include <fstream>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

class ProcessFailuresTest : public ProcessStage {
 protected:
  /// A machine of 8 GiB, of which 1.4 are free.
  void open_machine() {
    const std::filesystem::path proc = directory_.path() / "machine" / "proc";
    std::filesystem::create_directories(proc / "self");
    std::ofstream{proc / "self" / "mountinfo"};
    std::ofstream{proc / "meminfo"} << "MemTotal: 8388608 kB\nMemAvailable: 1468006 kB\n"
                                       "SwapTotal: 0 kB\nSwapFree: 0 kB\n";
    ASSERT_FALSE(memory_.open("files:" + (directory_.path() / "machine").string(),
                              [](const std::string&, const std::string&) {}));
  }
};

// --- containerPort ---

TEST_F(ProcessFailuresTest, AProgramOnItsContainerPortIsServedThereByOneReplica) {
  ServiceSpec written = spec();
  written.container_port = 8080;
  put(written);
  order("app-00001", 2);
  EXPECT_EQ(there(), "app-00001-1") << "it is not known yet whether two can listen";
  replica("app-00001-1").waits({.kind = CauseKind::container_port, .what = "it listens on 8080"});
  turn();
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
  EXPECT_EQ(there(), "app-00001-1") << "it may still have the port";

  replica("app-00001-1").is_gone();
  turn();

  ASSERT_EQ(replicas_.size(), 1U);
  EXPECT_EQ(replicas_.begin()->second->plan.spec.fixed_port, 8080);
  replicas_.begin()->second->becomes_ready();
  turn();
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");

  const auto again = platform_.put(written);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, Applied::unchanged);
  written.args = {"other"};
  put(written);
  EXPECT_EQ(platform_.find("app")->newest().spec().fixed_port, 8080);
}

TEST_F(ProcessFailuresTest, AProgramWithAContainerPortThatListensOnPortHasAsManyAsAreOrdered) {
  ServiceSpec written = spec();
  written.container_port = 8080;
  put(written);
  order("app-00001", 3);
  EXPECT_EQ(there(), "app-00001-1");
  replica("app-00001-1").becomes_ready();
  turn();
  EXPECT_EQ(there(), "app-00001-1 app-00001-2 app-00001-3");
}

// --- failing ---

TEST_F(ProcessFailuresTest, AFailedStartIsTriedAgainAfterItsWait) {
  put(spec());
  order("app-00001", 1);
  fail_start("app-00001", 1);
  EXPECT_EQ(there(), "");
  time_.run_for(499ms);
  EXPECT_EQ(there(), "");
  time_.run_for(1ms);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessFailuresTest,
       AReplicaWhoseDynamicPortIsTakenIsReplacedAtOnceAndAfterTheThirdInARowWithWaits) {
  put(spec());
  order("app-00001", 1);
  for (const char* next : {"app-00001-2", "app-00001-1", "app-00001-2"}) {
    const std::string lost = there();
    replica(lost).loses_its_port();
    EXPECT_EQ(amiss(), "app-00001 starting: still starting");
    replica(lost).is_gone();
    turn();
    EXPECT_EQ(there(), next);
  }
  replica("app-00001-2").loses_its_port();
  replica("app-00001-2").is_gone();
  turn();
  EXPECT_EQ(there(), "");
  EXPECT_EQ(amiss(), "app-00001 failing: port 20000 is held by nc (pid 7)");
  for (const Duration wait : std::initializer_list<Duration>{500ms, 1s, 2s, 4s}) {
    time_.run_for(wait);
    EXPECT_EQ(there(), "app-00001-1");
    replica("app-00001-1").loses_its_port();
    replica("app-00001-1").is_gone();
    turn();
  }
  EXPECT_FALSE(listener_.revisions.at("app-00001").start_failure);
}

TEST_F(ProcessFailuresTest, AReplicaWhoseFixedPortIsTakenWaitsAsAnyFailedStart) {
  ServiceSpec fixed = spec();
  fixed.fixed_port = 8000;
  put(fixed);
  order("app-00001", 1);
  replica("app-00001-1").loses_its_port();
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(there(), "");
}

TEST_F(ProcessFailuresTest, TheThirdFailureIsReportedWithTheTimeOfTheNextTry) {
  put(spec());
  requests_.held["app-00001"] = 1;
  order("app-00001", 1);
  fail_start("app-00001", 2);
  EXPECT_FALSE(listener_.revisions.at("app-00001").start_failure);
  time_.run_for(30s);
  fail_start("app-00001", 1);
  const auto failure = listener_.revisions.at("app-00001").start_failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->why, "exit status 3");
  EXPECT_EQ(failure->retry_at, loop_.now() + 2s);
}

TEST_F(ProcessFailuresTest, AFailingServiceTriesAgainOnlyForARequest) {
  put(spec());
  order("app-00001", 1);
  fail_start("app-00001", 3);
  time_.run_for(60s);
  order("app-00001", 1);
  EXPECT_EQ(there(), "");
  requests_.held["app-00001"] = 1;
  platform_.revision({"default", "app-00001"})->demand();
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessFailuresTest, ARequestDuringTheWaitOfAFailingServiceStartsNothingBeforeItsEnd) {
  put(spec());
  order("app-00001", 1);
  fail_start("app-00001", 3);
  requests_.held["app-00001"] = 1;
  platform_.revision({"default", "app-00001"})->demand();
  EXPECT_EQ(there(), "");
  time_.run_for(2s);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessFailuresTest, AFailingServiceWithAMinimumIsTriedAgainWithoutARequest) {
  ServiceSpec kept = spec();
  kept.template_annotations[kMinScale] = "1";
  put(kept);
  order("app-00001", 1);
  fail_start("app-00001", 3);
  time_.run_for(2s);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessFailuresTest, AfterAFailureOneReplicaIsTriedAtATime) {
  put(spec());
  order("app-00001", 1);
  fail_start("app-00001", 1);
  order("app-00001", 3);
  time_.run_for(1s);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessFailuresTest, AReplicaThatCannotBeMadeCountsAsAFailedStart) {
  put(spec());
  refusal_ = Problem{"port 3000 is taken", "free it"};
  order("app-00001", 1);
  turn();
  EXPECT_EQ(there(), "");
  EXPECT_EQ(events("warning"), 1U);
  refusal_.reset();
  time_.run_for(500ms);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(ProcessFailuresTest, AnExitAfterASecondReadyIsReplacedAtOnceUnderAnotherNumber) {
  serve_by_one();
  time_.run_for(1s);
  replica("app-00001-1").exits();
  EXPECT_EQ(there(), "app-00001-1 app-00001-2");
  turn();
  EXPECT_EQ(said("app-00001"), "serves 0 ready 1 starting 0 leaving");
}

TEST_F(ProcessFailuresTest, AnExitSoonAfterReadyWaitsAndNeverMakesTheServiceFailing) {
  put(spec());
  order("app-00001", 1);
  for (int i = 0; i < 4; ++i) {
    ready({"app-00001-1"});
    replica("app-00001-1").exits();
    replica("app-00001-1").is_gone();
    turn();
    EXPECT_EQ(there(), "");
    time_.run_for(30s);
  }
  EXPECT_EQ(there(), "app-00001-1");
  EXPECT_FALSE(listener_.revisions.at("app-00001").start_failure);
}

TEST_F(ProcessFailuresTest, TheStartOfAReplicaIsReportedBeforeItsFailureCanBe) {
  put(spec());
  listener_.diary.clear();
  means_.started = [this](const Replica& started) {
    loop_.post([this, id = started.id()] { replica(id).fails(); });
  };
  order("app-00001", 1);
  turn();
  ASSERT_EQ(listener_.diary.size(), 2U);
}

// --- what is not ready ---

TEST_F(ProcessFailuresTest, AServiceThatSleepsOrServesHasNothingThatIsNotReady) {
  put(spec());
  EXPECT_EQ(amiss(), "");
  order("app-00001", 1);
  EXPECT_EQ(amiss(), "app-00001 starting: still starting");
  ready({"app-00001-1"});
  EXPECT_EQ(amiss(), "");
}

TEST_F(ProcessFailuresTest, TheCauseOfTheLastFailedStartIsKeptUntilOneIsReady) {
  put(spec());
  order("app-00001", 1);
  fail_start("app-00001", 1);
  EXPECT_EQ(amiss(), "app-00001 failing: exit status 3");
  time_.run_for(500ms);
  EXPECT_EQ(amiss(), "app-00001 failing: exit status 3");
  replica("app-00001-1").waiting = {.kind = CauseKind::other_port, .what = "it listens on 8000"};
  EXPECT_EQ(amiss(), "app-00001 starting: it listens on 8000");
  ready({"app-00001-1"});
  EXPECT_EQ(amiss(), "");
}

TEST_F(ProcessFailuresTest, WhatNothingIsWantedOfIsNotAmissThoughItsLastStartFailed) {
  put(spec());
  order("app-00001", 1);
  fail_start("app-00001", 3);
  EXPECT_EQ(amiss(), "app-00001 failing: exit status 3");
  order("app-00001", 0);
  EXPECT_EQ(amiss(), "");
  EXPECT_EQ(platform_.find("app")->current->last_failure()->sentence(), "exit status 3");
}

TEST_F(ProcessFailuresTest, ReplicasThatEndByThemselvesAreShownForTenMinutes) {
  serve_by_one();
  for (int i = 0; i < 2; ++i) {
    time_.run_for(2s);
    FakeReplica& only = *replicas_.begin()->second;
    only.exits();
    only.is_gone();
    turn();
    replicas_.begin()->second->becomes_ready();
  }
  time_.run_for(12s);
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");
  EXPECT_EQ(amiss(),
            "app-00001 restarting: 2 of its replicas ended by themselves, the last 12 s ago: "
            "exit status 1");
  time_.run_for(588s);
  EXPECT_EQ(amiss(), "");
  EXPECT_EQ(platform_.find("app")->current->ended(), 2);
}

TEST_F(ProcessFailuresTest, ReplicasThatEndedBeforeItSleptAreNoCauseOfAStart) {
  serve_by_one();
  time_.run_for(2s);
  FakeReplica& only = *replicas_.begin()->second;
  only.exits();
  only.is_gone();
  turn();
  EXPECT_EQ(amiss().substr(0, 20), "app-00001 restarting");
  order("app-00001", 0);
  order("app-00001", 1);
  EXPECT_EQ(amiss(), "app-00001 starting: still starting");
}

TEST_F(ProcessFailuresTest, ARevisionThatDoesNotStartIsListedBesideTheServingOne) {
  serve_by_one();
  put(changed("b"));
  order("app-00002", 1);
  EXPECT_EQ(amiss(), "app-00002 starting: still starting");
  fail_start("app-00002", 3);
  EXPECT_EQ(amiss(), "app-00002 given_up: exit status 3");
  put(spec());
  EXPECT_EQ(amiss(), "");
}

TEST_F(ProcessFailuresTest, AProgramThatHasSettledElsewhereFailsTheServiceUntilItIsReady) {
  put(spec());
  order("app-00001", 1);
  replica("app-00001-1").settles({.kind = CauseKind::other_port, .what = "it listens on 8000"});
  turn();
  const auto failure = listener_.revisions.at("app-00001").start_failure;
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->why, "it listens on 8000");
  EXPECT_EQ(failure->retry_at, loop_.now() + 60s);
  ready({"app-00001-1"});
  EXPECT_FALSE(listener_.revisions.at("app-00001").start_failure);
}

// --- memory ---

TEST_F(ProcessFailuresTest, ASacrificedReplicaIsReportedWithItsReasonAndMayFinishForTwoSeconds) {
  put(spec());
  order("app-00001", 2);
  ready({"app-00001-1", "app-00001-2"});
  requests_.on_pods["app-00001-2"] = 1;
  MemoryTenant& tenant = *platform_.revision({"default", "app-00001"});
  EXPECT_TRUE(tenant.on_sacrifice("app-00001-2", false, "memory is short"));
  turn();
  EXPECT_EQ(listener_.revisions.at("app-00001").pods[1].failed, "sacrificed: memory is short");
  time_.run_for(1999ms);
  EXPECT_EQ(replica("app-00001-2").stopped, 0);
  time_.run_for(1ms);
  EXPECT_EQ(replica("app-00001-2").stopped, 1);
}

TEST_F(ProcessFailuresTest, AReplicaSacrificedInAnEmergencyIsReportedBeforeItIsStopped) {
  serve_by_one();
  requests_.on_pods["app-00001-1"] = 1;
  MemoryTenant& tenant = *platform_.revision({"default", "app-00001"});
  EXPECT_FALSE(tenant.on_sacrifice("app-00001-1", false, "memory is short"));
  EXPECT_TRUE(tenant.on_sacrifice("app-00001-1", true, "memory is short"));
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  turn();
  EXPECT_EQ(said("app-00001"), "serves 0 ready 0 starting 1 leaving");
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
}

TEST_F(ProcessFailuresTest, AThrottledReplicaIsReportedOnceAndWhenItIsFree) {
  serve_by_one();
  listener_.diary.clear();
  MemoryTenant& tenant = *platform_.revision({"default", "app-00001"});
  tenant.on_throttled("app-00001-1", true, "memory is short");
  tenant.on_throttled("app-00001-1", true, "memory is short");
  turn();
  EXPECT_TRUE(platform_.throttled("default", "app-00001-1", ""));
  EXPECT_EQ(listener_.diary.size(), 1U);
  tenant.on_throttled("app-00001-1", false, "");
  turn();
  EXPECT_FALSE(platform_.throttled("default", "app-00001-1", ""));
  EXPECT_EQ(listener_.diary.size(), 2U);
}

TEST_F(ProcessFailuresTest, AReplicaThatIsNotTriedNowClaimsNoMemory) {
  open_machine();
  ServiceSpec large = spec("app");
  large.memory_limit = std::int64_t{1} << 30;
  put(large);
  large.name = "web";
  put(large);
  order("app-00001", 1);
  fail_start("app-00001", 3);
  time_.run_for(30s);
  ASSERT_EQ(there(), "");
  EXPECT_EQ(ask("app-00001", 3).replicas, 3);
  EXPECT_EQ(ask("web-00001", 1).replicas, 1);
}

TEST_F(ProcessFailuresTest, WhatThereIsNoRoomForNamesTheRoomThatIsMissing) {
  open_machine();
  put(spec("web"));
  order("web-00001", 1);
  ServiceSpec large = spec("app");
  large.memory_limit = std::int64_t{4} << 30;
  put(large);
  auto granted = ask("app-00001", 1);
  EXPECT_EQ(granted.replicas, 0);
  EXPECT_EQ(granted.missing->patience, Duration{5s});
  EXPECT_TRUE(amiss().starts_with("app-00001 starting: no memory: ")) << amiss();

  large.memory_limit = std::int64_t{99'999} << 30;
  put(large);
  granted = ask("app-00002", 1);
  EXPECT_EQ(granted.missing->patience, Duration{0}) << "it is not worth waiting for";
  EXPECT_EQ(granted.missing->detail, "it needs 99999Gi of memory, and this machine has 8.0Gi");
  EXPECT_EQ(amiss(), "app-00002 starting: " + granted.missing->detail + "; lower its memory limit");
  EXPECT_EQ(ask("app-00002", 0).replicas, 0);
  EXPECT_EQ(amiss(), "");
}

TEST_F(ProcessFailuresTest, AnEngineThatHasAllItsReplicasNamesThat) {
  settings_.max_replicas = 1;
  put(spec("web"));
  scale("web-00001", 1);
  put(spec("app"));
  const auto granted = ask("app-00001", 1);
  EXPECT_EQ(granted.replicas, 0);
  EXPECT_EQ(granted.missing->detail, "max-replicas 1 reached");
  EXPECT_EQ(granted.missing->patience, Duration{5s}) << "then its requests are refused";
  EXPECT_EQ(amiss(),
            "app-00001 starting: " + granted.missing->detail + "; " + granted.missing->fix);
}

TEST_F(ProcessFailuresTest, AServiceThatRunsNamesWhyItHasNoFurtherReplica) {
  settings_.max_replicas = 1;
  put(spec("app"));
  order("app-00001", 1);
  ready({"app-00001-1"});
  EXPECT_EQ(amiss(), "");
  EXPECT_EQ(ask("app-00001", 5).replicas, 1);
  EXPECT_EQ(amiss(),
            "app-00001 short: max-replicas 1 reached; raise it in "
            "config.yaml for the next start, or let others sleep");
  EXPECT_EQ(ask("app-00001", 1).replicas, 1);
  EXPECT_EQ(amiss(), "");
}

// --- shutdown ---

TEST_F(ProcessFailuresTest, StopAllStopsEveryReplicaOnceAndStartsNoneLater) {
  put(spec("app"));
  put(spec("web"));
  order("app-00001", 2);
  order("web-00001", 1);
  ready({"app-00001-1"});
  requests_.on_pods["app-00001-1"] = 1;
  platform_.stop_all(false);
  platform_.stop_all(false);
  for (const char* id : {"app-00001-1", "app-00001-2", "web-00001-1"}) {
    EXPECT_EQ(replica(id).stopped, 1) << id;
  }
  order("app-00001", 3);
  for (const char* id : {"app-00001-1", "app-00001-2", "web-00001-1"}) replica(id).is_gone();
  time_.run_for(60s);
  EXPECT_EQ(there(), "");
  EXPECT_EQ(platform_.replicas(), 0);
}

TEST_F(ProcessFailuresTest, StopAllWithKillKillsStoppingReplicasToo) {
  serve_by_one();
  platform_.stop_all(false);
  platform_.stop_all(true);
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
  EXPECT_EQ(replica("app-00001-1").killed, 1);
}

}  // namespace
}  // namespace sluice::local
