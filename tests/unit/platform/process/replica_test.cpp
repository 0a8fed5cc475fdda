#include "platform/process/replica.h"

#include "common/loop/asio_loop.h"
#include "tests/unit/platform/process/eventually.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "platform/process/cores.h"
#include "platform/process/place_groups.h"
#include "platform/process/proc_files.h"
#include "platform/process/sidecar.h"
#include <algorithm>
#include <csignal>
#include <functional>

namespace sluice::local {
namespace {

/// Records its events, one word each.
class Diary : public ReplicaOwner {
 public:
  void on_ready(Replica&) override { events.emplace_back("ready"); }

  void on_start_failed(Replica&, const ReplicaEnd& why) override {
    events.emplace_back("start_failed");
    end = why;
  }

  void on_exited_after_ready(Replica&, const ReplicaEnd& why) override {
    events.emplace_back("exited");
    end = why;
  }

  void on_stopped(Replica&) override { events.emplace_back("stopped"); }

  void on_output(Replica&, OutputSource source, std::string_view line) override {
    if (source == OutputSource::app_stdout) output.emplace_back(line);
  }

  void on_launched(Replica&) override { ++launched; }

  void on_waiting(Replica&, const Cause& cause) override { waits.push_back(cause.sentence()); }

  void on_settled_elsewhere(Replica&, const Cause&) override {}

  [[nodiscard]] bool saw(const std::string& event) const {
    return std::find(events.begin(), events.end(), event) != events.end();
  }

  std::vector<std::string> events;
  std::vector<std::string> output;
  std::vector<std::string> waits;
  ReplicaEnd end;
  int launched = 0;
};

using Events = std::vector<std::string>;

class ReplicaTest : public testing::Test {
 protected:
  ReplicaTest() : reaper_(io_), ports_(clock_, 27400, 27900) { become_subreaper(); }

  Replica& replica(std::vector<std::string> arguments, Duration start_timeout, Duration grace) {
    ReplicaPlan plan;
    plan.spec.name = "app";
    plan.spec.command = {SLUICE_TEST_ACTOR};
    plan.spec.args = std::move(arguments);
    plan.spec.working_dir = "/";
    plan.spec.start_timeout = start_timeout;
    plan.spec.stop_grace = grace;
    plan.revision = "app-00001";
    plan.id = "app-00001-1";
    auto lease = ports_.allocate("app");
    EXPECT_TRUE(lease.has_value());
    plan.port = std::move(*lease);
    plan.program = program_;
    plan.sidecar = sidecar_;
    plan.directory = runtime_;
    plan.look_interval = look_;
    if (in_place_) in_place_(plan);
    replica_ =
        std::make_unique<ChildReplica>(io_, loop_, reaper_, spawner_, diary_, std::move(plan));
    return *replica_;
  }

  Replica& replica(std::vector<std::string> arguments) {
    return replica(std::move(arguments), std::chrono::seconds{60}, std::chrono::seconds{60});
  }

  bool until(const std::string& event) {
    return until([&] { return diary_.saw(event); });
  }

  bool until(const std::function<bool()>& condition) {
    return eventually(condition, [&] { io_.run_one_for(std::chrono::milliseconds{50}); });
  }

  TemporaryDirectory directory_;
  std::filesystem::path runtime_ = directory_.path() / "r" / "app-00001-1";
  std::filesystem::path program_ = SLUICE_TEST_ACTOR;
  std::filesystem::path sidecar_ = SLUICE_TEST_ACTOR;
  Duration look_ = std::chrono::milliseconds{900};
  std::function<void(ReplicaPlan& plan)> in_place_;
  Clock clock_;
  AsioLoop loop_{io_, clock_};
  boost::asio::io_context io_;
  Reaper reaper_;
  Spawner spawner_{io_, loop_, reaper_};
  Diary diary_;
  PortAllocator ports_;
  std::unique_ptr<Replica> replica_;
};

TEST_F(ReplicaTest, BecomesReadyAndStopsWhenAsked) {
  Replica& one = replica({"listen", "$PORT"});
  one.start();
  ASSERT_TRUE(until("ready")) << diary_.end.cause.sentence();
  // What a program writes has a pipe of its own and may come later than the news that it listens.
  EXPECT_TRUE(until([&] { return !diary_.output.empty(); }));
  EXPECT_EQ(diary_.output, Events{"listening on " + std::to_string(one.port())});
  EXPECT_GT(one.memory_bytes(), 0);
  EXPECT_LE(*one.times().created, *one.times().executed);
  EXPECT_LE(*one.times().created, *one.times().sidecar_up);
  EXPECT_LE(*one.times().executed, *one.times().ready);
  EXPECT_LE(*one.times().sidecar_up, *one.times().ready);

  one.stop();

  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"ready", "stopped"}));
  EXPECT_EQ(diary_.launched, 2);
  EXPECT_FALSE(std::filesystem::exists(runtime_));
  EXPECT_NE(::kill(one.app_pid(), 0), 0);
  EXPECT_NE(::kill(one.sidecar_pid(), 0), 0);
}

// Goal: both processes run on the cores of their group of the machine, and the app in its control
// group, though the spec has no limits.
TEST_F(ReplicaTest, RunsOnTheCoresAndInTheControlGroupOfItsPlace) {
  const std::vector<int> cores{own_cores().back()};
  const CgroupTree machine = CgroupTree::detect("sluice-unit-test-replica", "/run/sluice");
  PlaceGroups places{machine};
  const std::vector<MachineGroup> groups{{.name = "fast", .memory = std::int64_t{64} << 20}};
  EXPECT_EQ(places.make(groups).empty(), machine.can_limit_memory());
  in_place_ = [&](ReplicaPlan& plan) {
    plan.place = "fast";
    plan.place_limited = places.is_limited("fast");
    plan.cgroups = &places.tree_of("fast");
    plan.cpus = cores;
  };
  Replica& one = replica({"listen", "$PORT"});
  one.start();
  ASSERT_TRUE(until("ready")) << diary_.end.cause.sentence();

  for (const pid_t pid : {one.app_pid(), one.sidecar_pid()}) {
    const std::string process = "/proc/" + std::to_string(pid);
    const std::string status = read_small_file(process + "/status", 4096).value_or("");
    EXPECT_NE(status.find("Cpus_allowed_list:\t" + format_cores(cores) + "\n"), std::string::npos)
        << status;
    const std::string group = read_small_file(process + "/cgroup", 4096).value_or("");
    EXPECT_EQ(group.find("/place.fast/app-00001-1\n") != std::string::npos,
              machine.can_limit_memory() && pid == one.app_pid())
        << group;
  }

  one.stop();
  ASSERT_TRUE(until("stopped"));
  machine.clear();
  EXPECT_FALSE(std::filesystem::exists(places.tree_of("fast").memory_directory("app-00001-1")));
}

TEST_F(ReplicaTest, ListeningWorkersBelongToTheApp) {
  replica({"forking", "$PORT"}).start();
  EXPECT_TRUE(until("ready")) << diary_.end.cause.sentence();
  replica_->kill();
  EXPECT_TRUE(until("stopped"));
}

TEST_F(ReplicaTest, ExitBeforeReadyIsAFailedStartWithItsLastLines) {
  replica({"exit", "0", "1", "2", "3", "4", "5", "6"}).start();

  ASSERT_TRUE(until("stopped"));

  EXPECT_EQ(diary_.events, (Events{"start_failed", "stopped"}));
  EXPECT_EQ(diary_.end.exit_code, 0);
  EXPECT_EQ(diary_.end.cause.sentence(), "it ended with exit code 0: 6");
  EXPECT_EQ(diary_.end.stderr_tail, (Events{"2", "3", "4", "5", "6"}));
}

TEST_F(ReplicaTest, NotReadyInTimeIsAFailedStart) {
  replica({"wait"}, std::chrono::milliseconds{100}, std::chrono::seconds{60}).start();

  ASSERT_TRUE(until("stopped"));

  EXPECT_EQ(diary_.events, (Events{"start_failed", "stopped"}));
  EXPECT_EQ(diary_.end.cause.what,
            "nothing listened on " + std::to_string(replica_->port()) + " within 100ms");
}

TEST_F(ReplicaTest, APortOfAnotherProcessIsAFailedStartNamingThePid) {
  Replica& one = replica({"wait"});
  SpawnSpec stranger;
  stranger.program = SLUICE_TEST_ACTOR;
  stranger.argv = {"actor", "listen", std::to_string(one.port())};
  const auto child = spawn(stranger);
  ASSERT_TRUE(child.has_value());

  one.start();

  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"start_failed", "stopped"}));
  EXPECT_NE(diary_.end.cause.what.find("(pid " + std::to_string(child->pid) + ")"),
            std::string::npos)
      << diary_.end.cause.sentence();
  kill_group(child->pid, SIGKILL);
}

TEST_F(ReplicaTest, AnotherPortThanGivenIsWarnedOfWithTheFix) {
  const auto other = ports_.allocate("app");
  ASSERT_TRUE(other.has_value());
  const std::string wrong = std::to_string(other->port());
  look_ = std::chrono::milliseconds{20};
  Replica& one = replica({"listen", wrong});
  one.start();

  ASSERT_TRUE(eventually([&] { return !diary_.waits.empty(); },
                         [&] { io_.run_one_for(std::chrono::milliseconds{50}); }));
  one.kill();
  ASSERT_TRUE(until("stopped"));

  EXPECT_EQ(diary_.waits,
            Events{"it listens on " + wrong + ", not on $PORT (" + std::to_string(one.port()) +
                   "); use --port " + wrong + " (in YAML: sluice.dev/port)"});
}

TEST_F(ReplicaTest, ExitAfterReadyIsReportedAtOnceAndTheSidecarEnds) {
  Replica& one = replica({"listen", "$PORT"});
  one.start();
  ASSERT_TRUE(until("ready"));

  kill_group(one.app_pid(), SIGINT);

  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"ready", "exited", "stopped"}));
  EXPECT_EQ(diary_.end.signal, SIGINT);
}

TEST_F(ReplicaTest, ExitOfTheSidecarEndsTheReplica) {
  Replica& one = replica({"listen", "$PORT"});
  one.start();
  ASSERT_TRUE(until("ready"));

  kill_group(one.sidecar_pid(), SIGKILL);

  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"ready", "exited", "stopped"}));
  EXPECT_EQ(diary_.end.cause.sentence(), "its queue-proxy ended with signal 9 (Killed)");
  EXPECT_FALSE(diary_.end.exit_code.has_value());
}

TEST_F(ReplicaTest, AnAppThatIgnoresTermIsKilledAfterItsGrace) {
  Replica& one =
      replica({"stubborn", "$PORT"}, std::chrono::seconds{60}, std::chrono::milliseconds{50});
  one.start();
  ASSERT_TRUE(until("ready"));

  one.stop();

  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"ready", "stopped"}));
}

TEST_F(ReplicaTest, StoppedWhileStartingIsNoFailure) {
  Replica& one = replica({"wait"});
  one.start();
  one.stop();

  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"stopped"}));
}

TEST_F(ReplicaTest, ProgramsThatCannotRunAreFailedStarts) {
  program_ = "/nowhere/app";
  replica({"wait"}).start();
  EXPECT_TRUE(diary_.events.empty());  // never from within start()
  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"start_failed", "stopped"}));

  program_ = SLUICE_TEST_ACTOR;
  sidecar_ = "/nowhere/queue-proxy";
  diary_.events.clear();
  replica({"wait"}).start();
  ASSERT_TRUE(until("stopped"));
  EXPECT_EQ(diary_.events, (Events{"start_failed", "stopped"}));
  EXPECT_EQ(diary_.end.cause.what.substr(0, 38), "cannot start /nowhere/queue-proxy: No ");
}

TEST_F(ReplicaTest, LongSocketPathsAreRefusedWithAFix) {
  runtime_ = directory_.path() / std::string(100, 'x');
  replica({"wait"}).start();

  ASSERT_TRUE(until("stopped"));
  EXPECT_NE(diary_.end.cause.what.find("longer than 107 bytes"), std::string::npos);
}

TEST_F(ReplicaTest, DestructionLeavesNoProcess) {
  Replica& one = replica({"listen", "$PORT"});
  one.start();
  ASSERT_TRUE(until("ready"));
  const pid_t app = one.app_pid();

  replica_.reset();

  EXPECT_TRUE(eventually([&] { return ::kill(app, 0) != 0; },
                         [&] { io_.run_one_for(std::chrono::milliseconds{50}); }));
  EXPECT_EQ(diary_.events, (Events{"ready"}));
}

TEST(SidecarEnvironment, IsCompleteAndInheritsNoneOfItsOwnVariables) {
  ServiceSpec spec;
  spec.name = "app";
  spec.container_concurrency = 5;
  const auto environment = sidecar_environment({.spec = spec,
                                                .revision = "app-00001",
                                                .replica = "app-00001-1",
                                                .port = 20000,
                                                .sockets = *sidecar_sockets("/r"),
                                                .write_timeout = std::chrono::seconds{60},
                                                .ready_fd = 7},
                                               {"HOME=/root", "SERVING_POD=x", "LISTEN_FDS=1"});

  EXPECT_EQ(environment,
            (Events{"HOME=/root",
                    "CONTAINER_CONCURRENCY=5",
                    "QUEUE_SERVING_PORT=unix:/r/serving.sock",
                    "QUEUE_SERVING_TLS_PORT=",
                    "USER_PORT=20000",
                    "REVISION_TIMEOUT_SECONDS=300",
                    "REVISION_RESPONSE_START_TIMEOUT_SECONDS=0",
                    "REVISION_IDLE_TIMEOUT_SECONDS=0",
                    "SERVING_READINESS_PROBE={\"periodSeconds\":0,\"successThreshold\":1,"
                    "\"tcpSocket\":{\"host\":\"127.0.0.1\",\"port\":20000},\"timeoutSeconds\":1}",
                    "SERVING_LOGGING_CONFIG=",
                    "SERVING_LOGGING_LEVEL=",
                    "SERVING_NAMESPACE=default",
                    "SERVING_SERVICE=app",
                    "SERVING_CONFIGURATION=app",
                    "SERVING_REVISION=app-00001",
                    "SERVING_POD=app-00001-1",
                    "SERVING_POD_IP=127.0.0.1",
                    "SLUICE_ADMIN_ADDRESS=unix:/r/admin.sock",
                    "SLUICE_STATS_ADDRESS=unix:/r/stats.sock",
                    "SLUICE_METRICS_ADDRESS=",
                    "SLUICE_DRAIN_QUIET=0s",
                    "SLUICE_WRITE_TIMEOUT=60000ms",
                    "SLUICE_READY_FD=7"}));
}

TEST(SidecarEnvironment, AnHttp2AppIsProbedOverHttp2) {
  ServiceSpec spec;
  spec.h2c = true;
  const auto environment = sidecar_environment({.spec = spec,
                                                .revision = "app-00001",
                                                .replica = "app-00001-1",
                                                .port = 20000,
                                                .sockets = *sidecar_sockets("/r"),
                                                .write_timeout = std::chrono::seconds{60},
                                                .ready_fd = 7},
                                               {"ENABLE_HTTP2_AUTO_DETECTION=false"});

  const auto said = [](const std::string& one) { return one.starts_with("ENABLE_HTTP2"); };
  EXPECT_EQ(std::count_if(environment.begin(), environment.end(), said), 1);
  EXPECT_EQ(*std::find_if(environment.begin(), environment.end(), said),
            "ENABLE_HTTP2_AUTO_DETECTION=true");
}

TEST(ProgramEnvironment, LaterVariablesWin) {
  ServiceSpec spec;
  spec.env = {{"A", "$PORT"}, {"PORT", "1"}};
  const Variables variables{20000, "app", "app-00001"};

  EXPECT_EQ(program_environment(spec.app(), spec.config, variables, {},
                                {"A=0", "B=2", "PORT=8080", "NOTIFY_SOCKET=/x"}),
            (Events{"B=2", "A=20000", "PORT=20000", "K_SERVICE=app", "K_CONFIGURATION=app",
                    "K_REVISION=app-00001"}));
}

}  // namespace
}  // namespace sluice::local
