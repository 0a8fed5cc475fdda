// Goal: an activator and an autoscaler in one process exchange messages as over a stream, and
// messages up are handled in the same turn: a first request starts a replica before the loop turns.
// Method: the real Fleet, hub and peer over the real platform, replicas without processes, virtual
// time. The test is the front door.

#include "platform/process/direct_peer.h"

#include "autoscaler/io/fleet.h"
#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/ring_history.h"
#include "tests/unit/platform/process/process_stage.h"

#include <random>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

/// Every replica answers a scrape, and serves nothing.
class IdleReplicas final : public autoscaler::StatSource {
 public:
  explicit IdleReplicas(Loop& loop) : loop_{loop} {}

  [[nodiscard]] std::unique_ptr<Question> ask(const std::string& /*address*/,
                                              Answered answered) override {
    auto asked = std::make_unique<Asked>();
    loop_.post([answered = std::move(answered), alive = asked->alive.watch()] {
      if (!alive.over()) answered(autoscaler::Stat{});
    });
    return asked;
  }

 private:
  struct Asked final : Question {
    Lifetime alive;
  };

  Loop& loop_;
};

class DirectPeerTest : public ProcessStage {
 protected:
  void SetUp() override {
    listener_.next = &fleet_;
    settings_.autoscaler["allow-zero-initial-scale"] = "true";
    ProcessStage::SetUp();
    peer_.start();
  }

  /// A first request comes for a revision that was idle, and waits if no replica is ready.
  void request(const std::string& revision) {
    const RevisionId id{"default", revision};
    if (said(revision).find(" 0 ready") != std::string::npos) ++requests_.held[revision];
    peer_.poke({id, 1, 1}, {id, 1, Duration{0}}, loop_.now());
  }

  /// A second ends in which `count` requests came, with so many in flight on average.
  void second(const std::string& revision, double in_flight, double count) {
    time_.run_for(1s);
    const activator::RevisionStat stat{{"default", revision}, in_flight, count};
    peer_.tick({&stat, 1}, {}, loop_.now());
  }

  /// One in which nothing comes.
  void quiet(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      time_.run_for(1s);
      peer_.tick({}, {}, loop_.now());
    }
  }

  void serve(const std::string& revision) {
    request(revision);
    replica(revision + "-1").becomes_ready();
    requests_.held.clear();
    turn();
  }

  [[nodiscard]] autoscaler::Revision& scaled(const std::string& revision) {
    return *fleet_.revisions().at({"default", revision});
  }

  /// What the activator received last.
  [[nodiscard]] proto::RevisionState told(const std::string& revision) const {
    const proto::RevisionState* const state = peer_.state({"default", revision});
    return state == nullptr ? proto::RevisionState{} : *state;
  }

  IdleReplicas stats_{loop_};
  std::mt19937_64 random_{1};
  autoscaler::ScaleLoop scale_loop_{loop_};
  autoscaler::ActivatorHub hub_{{"sluice", "1"},
                                {.all = {"sluice"}, .owned = {"sluice"}, .epoch = 0},
                                loop_.now() - autoscaler::kRemovalWait};
  autoscaler::RingHistory history_;
  autoscaler::FleetEvents fleet_events_{loop_, ring_, history_};
  autoscaler::Surroundings around_{
      .clock = loop_,
      .stats = stats_,
      .log = log_,
      .loop = scale_loop_,
      .hub = hub_,
      .placement = placement_,
      .throttled = platform_,
      .platform = platform_,
      .events = fleet_events_,
      .random = random_,
      .activator_connected = [] { return true; },
      .news = [this] { peer_.news(); },
      .load_now = [this](const RevisionId& id,
                         const PodId& pod) { return double(requests_.on_pod(id, pod)); }};
  autoscaler::Fleet fleet_{around_};
  std::vector<std::string> put_in_force_;
  std::optional<int> stopped_when_avoided_;
  DirectPeer peer_{
      loop_,
      hub_,
      {.on_state =
           [this](const proto::RevisionState& state) {
             if (!state.avoid.empty()) stopped_when_avoided_ = replicas_.begin()->second->stopped;
             put_in_force_.push_back(fmt::format("{} desired {} granted {} avoids {}",
                                                 state.revision.name, state.desired, state.granted,
                                                 state.avoid.size()));
           },
       .on_gone = [this](const RevisionId& id) { put_in_force_.push_back(id.name + " gone"); },
       .on_reached = [] {},
       .held = [] { return std::vector<proto::Waiting>{}; }},
      [this](const autoscaler::ActivatorHub::Heard& heard) { fleet_.heard(heard); }};
};

TEST_F(DirectPeerTest, AFirstRequestStartsAReplicaInItsOwnTurn) {
  put(spec());
  turn();
  ASSERT_EQ(there(), "");
  request("app-00001");
  EXPECT_EQ(there(), "app-00001-1");
  EXPECT_EQ(replica("app-00001-1").started, 1);
}

TEST_F(DirectPeerTest, AMessageOfTheAutoscalerIsAppliedInATurnOfItsOwn) {
  put(spec());
  turn();
  put_in_force_.clear();
  request("app-00001");
  EXPECT_TRUE(put_in_force_.empty());
  turn();
  ASSERT_FALSE(put_in_force_.empty());
  EXPECT_EQ(put_in_force_.front(), "app-00001 desired 1 granted 1 avoids 0");
}

TEST_F(DirectPeerTest, AGoneRevisionIsDropped) {
  put(spec());
  turn();
  platform_.remove("app");
  turn();
  EXPECT_EQ(put_in_force_.back(), "app-00001 gone");
  EXPECT_EQ(peer_.state({"default", "app-00001"}), nullptr);
  EXPECT_TRUE(fleet_.revisions().empty());
}

TEST_F(DirectPeerTest, AnIdleServiceSleepsAndItsReplicaIsAvoidedBeforeItIsStopped) {
  put(spec());
  serve("app-00001");
  quiet(120);
  EXPECT_EQ(stopped_when_avoided_, 0);
  EXPECT_EQ(replica("app-00001-1").stopped, 1);
}

TEST_F(DirectPeerTest, TheReplicaThatIsIdlestNowGoesFirst) {
  put(spec());
  serve("app-00001");
  scaled("app-00001").set_bounds(3, 3);
  ready({"app-00001-2", "app-00001-3"});
  requests_.on_pods = {{"app-00001-1", 2}, {"app-00001-3", 1}};
  scaled("app-00001").set_bounds(1, 1);
  time_.run_for(1s);
  EXPECT_EQ(replica("app-00001-2").stopped, 1);
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 2 leaving");
  EXPECT_EQ(replica("app-00001-3").stopped, 0);
}

TEST_F(DirectPeerTest, AThrottledReplicaGoesBeforeEquallyIdleOnesAndAfterIdlerOnes) {
  put(spec());
  serve("app-00001");
  scaled("app-00001").set_bounds(3, 3);
  ready({"app-00001-2", "app-00001-3"});
  requests_.on_pods = {{"app-00001-1", 2}};
  MemoryTenant& tenant = *platform_.revision({"default", "app-00001"});
  tenant.on_throttled("app-00001-1", true, "memory is short");
  tenant.on_throttled("app-00001-2", true, "memory is short");
  turn();
  scaled("app-00001").set_bounds(2, 2);
  time_.run_for(1s);
  EXPECT_EQ(replica("app-00001-2").stopped, 1);
  EXPECT_EQ(said("app-00001"), "serves 2 ready 0 starting 1 leaving");
  scaled("app-00001").set_bounds(1, 1);
  time_.run_for(1s);
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  EXPECT_EQ(replica("app-00001-3").stopped, 1);
}

TEST_F(DirectPeerTest, ASleepByHandOutlivesTheRequestsOfItsOwnSecond) {
  put(spec());
  serve("app-00001");
  time_.run_for(400ms);
  scaled("app-00001").sleep();
  second("app-00001", 0.2, 7);
  time_.run_for(1s);
  EXPECT_EQ(said("app-00001"), "serves 0 ready 0 starting 1 leaving");
  EXPECT_EQ(told("app-00001").desired, 0);
}

TEST_F(DirectPeerTest, ARequestInFlightDoesNotEndASleepByHandAndANewOneDoes) {
  put(spec());
  serve("app-00001");
  requests_.on_pods["app-00001-1"] = 1;
  scaled("app-00001").sleep();
  for (int i = 0; i < 5; ++i) second("app-00001", 1, 0);
  EXPECT_EQ(said("app-00001"), "serves 0 ready 0 starting 1 leaving");
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  request("app-00001");
  EXPECT_EQ(there(), "app-00001-1 app-00001-2");
}

TEST_F(DirectPeerTest, AWakeByHandStartsAReplicaInItsOwnTurn) {
  put(spec());
  scaled("app-00001").wake();
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(DirectPeerTest, BoundsByHandBeyondAFixedPortStartOneReplica) {
  ServiceSpec fixed = spec();
  fixed.fixed_port = 3000;
  put(fixed);
  scaled("app-00001").set_bounds(3, 3);
  time_.run_for(10s);
  EXPECT_EQ(there(), "app-00001-1");
}

TEST_F(DirectPeerTest, ARollOverStartsAsManyAsWereReadyAndStopsTheOldOnesOneForOne) {
  put(spec());
  serve("app-00001");
  scaled("app-00001").set_bounds(2, 2);
  ready({"app-00001-2"});
  put(changed("b"));
  time_.run_for(5s);
  EXPECT_EQ(said("app-00001"), "serves 2 ready 0 starting 0 leaving");

  ready({"app-00002-1"});
  time_.run_for(1s);
  EXPECT_EQ(said("app-00002"), "serves 1 ready 1 starting 0 leaving");
  EXPECT_EQ(said("app-00001"), "waits 1 ready 0 starting 1 leaving");
  EXPECT_EQ(replica("app-00001-1").stopped + replica("app-00001-2").stopped, 1);
  time_.run_for(30s);
  EXPECT_EQ(said("app-00001"), "waits 1 ready 0 starting 1 leaving");

  ready({"app-00002-2"});
  time_.run_for(1s);
  EXPECT_EQ(said("app-00001"), "retired 0 ready 0 starting 2 leaving");
  for (const char* id : {"app-00001-1", "app-00001-2"}) replica(id).is_gone();
  turn();
  EXPECT_EQ(fleet_.revisions().size(), 1U);
}

TEST_F(DirectPeerTest, AFixedPortRollsOverByTheEndOfTheOldReplica) {
  ServiceSpec fixed = spec();
  fixed.fixed_port = 3000;
  put(fixed);
  serve("app-00001");
  requests_.on_pods["app-00001-1"] = 1;
  fixed.args = {"b"};
  put(fixed);
  time_.run_for(100s);
  EXPECT_EQ(said("app-00001"), "retired 0 ready 0 starting 1 leaving");
  EXPECT_EQ(there(), "app-00001-1");
  EXPECT_EQ(replica("app-00001-1").stopped, 0);

  requests_.on_pods.clear();
  platform_.revision({"default", "app-00001"})->on_pod_drained("unix:/run/app-00001-1/http");
  replica("app-00001-1").is_gone();
  turn();
  EXPECT_EQ(there(), "app-00002-1");
  ready({"app-00002-1"});
  EXPECT_EQ(said("app-00002"), "serves 1 ready 0 starting 0 leaving");
}

TEST_F(DirectPeerTest, AFailingServiceRefusesWithTheWaitAndTriesForTheRequestAfterIt) {
  put(spec());
  request("app-00001");
  fail_start("app-00001", 3);
  const proto::RevisionState failing = told("app-00001");
  ASSERT_TRUE(failing.cannot_scale);
  EXPECT_EQ(failing.cannot_scale->reason, proto::CannotScaleReason::start_failed);
  EXPECT_EQ(failing.granted, 0);
  requests_.held.clear();
  time_.run_for(2s);
  EXPECT_EQ(there(), "");
  EXPECT_FALSE(told("app-00001").cannot_scale);
  requests_.held["app-00001"] = 1;
  platform_.revision({"default", "app-00001"})->demand();
  EXPECT_EQ(there(), "app-00001-1");
}

}  // namespace
}  // namespace sluice::local
