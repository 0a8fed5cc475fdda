#include "memory-pressure/io/control_loop.h"

#include "common/loop/asio_loop.h"
#include "tests/unit/common/rpc/rpc_stage.h"
#include "tests/unit/memory-pressure/io/fake_runtime.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/exemptions.h"
#include "memory-pressure/core/quota.h"
#include "memory-pressure/core/recovery.h"
#include "memory-pressure/io/container_watch.h"
#include "memory-pressure/io/journal_file.h"
#include "memory-pressure/io/memory_sense.h"
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using testing::FakeRuntime;
using testing::FixtureTree;
using testing::Hierarchy;
using testing::kMiB;

constexpr std::int64_t kNodeMiB = 512;

PolicySettings settings() {
  PolicySettings policy;
  policy.sample = policy.fast_sample = std::chrono::milliseconds{10};
  policy.reserve = 0;
  policy.grace = {};
  return policy;
}

// Throttles everything above the upper bound until usage is below the lower: what is throttled is
// known beforehand.
class AllAtOnce final : public Policy {
 public:
  explicit AllAtOnce(const PolicySettings& settings) : settings_{settings} {}

  Decision decide(const Observation& seen) override {
    Decision decision;
    decision.upper = settings_.upper;
    if (seen.memory && seen.runtime_answers) {
      const auto capacity = static_cast<double>(seen.memory->capacity);
      const double usage = static_cast<double>(seen.memory->used) / capacity;
      pressed_ = usage > (pressed_ ? settings_.lower : settings_.upper);
    }
    for (const Container& each : seen.containers) {
      if (!pressed_ || exemption(each, seen.containers)) continue;
      decision.throttled.push_back({.id = each.id, .quota = signature(25)});
    }
    return decision;
  }

 private:
  PolicySettings settings_;
  bool pressed_ = false;
};

std::unique_ptr<Policy> all_at_once(const PolicySettings& settings) {
  return std::make_unique<AllAtOnce>(settings);
}

// An agent on a played node, as App puts it together.
struct Agent {
  Agent(boost::asio::io_context& io, const FixtureTree& tree, const FakeRuntime& runtime,
        ControlLoop::Options options)
      : journal{*JournalFile::open(tree.root())},
        memory{*MemorySense::open("cgroup:/node", tree.root())},
        time{io, clock},
        client{io, {.sockets = {runtime.socket()}}},
        watch{client, clock, {.root = tree.root()}},
        loop{{.loop = time,
              .log = log,
              .memory = [this] { return memory.read(); },
              .runtime = client,
              .containers = watch,
              .journal = options.controller.dry_run ? nullptr : &journal},
             options} {
    log.set_least(log::Severity::error);
    loop.start([this](const Problem& problem) { fatal = problem; });
  }

  Clock clock;
  log::Logger log{"node-agent"};
  JournalFile journal;
  MemorySense memory;
  AsioLoop time;
  CriClient client;
  ContainerWatch watch;
  ControlLoop loop;
  std::optional<Problem> fatal;
};

class Loop : public ::testing::Test {
 protected:
  Loop() { fill(0.5); }

  void fill(double share) {
    tree.set_memory("/node", {.used_mib = static_cast<std::int64_t>(share * kNodeMiB),
                              .cold_mib = 0,
                              .limit_mib = kNodeMiB});
  }

  void add(const std::string& id, std::int64_t used_mib, testing::FakeContainer more = {}) {
    more.pid = next_pid++;
    more.pod = "pod-" + id;
    runtime.run(id, more, {.used_mib = used_mib, .cold_mib = 0, .limit_mib = 64});
  }

  Agent& start(bool dry_run = false, const PolicySettings& policy = settings(),
               MakePolicy make_policy = all_at_once) {
    agent = std::make_unique<Agent>(
        io, tree, runtime,
        ControlLoop::Options{.controller = {.policy = policy,
                                            .boot_id = "boot-1",
                                            .dry_run = dry_run,
                                            .make_policy = std::move(make_policy)},
                             .lease = std::chrono::seconds{30}});
    return *agent;
  }

  bool until(const std::function<bool()>& done) { return run_until(io, done); }

  // For what a sanitizer makes hundreds of calls take.
  bool until_at_last(const std::function<bool()>& done) {
    return until(done) || until(done) || until(done) || until(done);
  }

  bool is_free(const std::string& id) const { return runtime.quota(id) == -1; }

  FixtureTree tree{Hierarchy::v1};
  FakeRuntime runtime{tree};
  boost::asio::io_context io{1};
  std::unique_ptr<Agent> agent;
  int next_pid = 100;
};

TEST_F(Loop, ThrottlesWhenMemoryIsShortAndGivesBackWhenItIsNot) {
  add("a", 10);
  add("b", 60, {.quota = 30'000, .period = 100'000});
  Agent& here = start();
  ASSERT_TRUE(until([&] { return here.loop.is_recovered(); }));

  fill(0.95);
  ASSERT_TRUE(until([&] { return !is_free("a") && runtime.quota("b") < 30'000; }));
  fill(0.5);

  // Row 14: b gets what it had, not "no limit".
  ASSERT_TRUE(until([&] { return is_free("a") && runtime.quota("b") == 30'000; }));
  ASSERT_TRUE(until([&] { return here.loop.controller().held().empty(); }));
}

TEST_F(Loop, AThrottleIsJournaledAndInTheKernelWhileTheRuntimeHangs) {
  add("a", 10);
  Agent& here = start();
  ASSERT_TRUE(until([&] { return here.loop.is_recovered(); }));
  runtime.hang("UpdateContainerResources", true);

  fill(0.95);
  ASSERT_TRUE(until([&] { return runtime.calls("UpdateContainerResources") > 0; }));

  EXPECT_NE(here.journal.content()->find("throttle"), std::string::npos);
  EXPECT_FALSE(is_free("a"));
  runtime.hang("UpdateContainerResources", false);
}

TEST_F(Loop, ThrottlesAreJournaledWithALease) {
  add("a", 10);
  Agent& here = start();
  ASSERT_TRUE(until([&] { return here.loop.is_recovered(); }));
  EXPECT_FALSE(recover(*here.journal.content(), "boot-1", {}).lease.has_value());

  fill(0.95);
  ASSERT_TRUE(until([&] { return !is_free("a"); }));

  const auto lease = recover(*here.journal.content(), "boot-1", {}).lease;
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->by, std::to_string(::getpid()));
  EXPECT_GT(lease->until, here.clock.now());
}

// The guardian of a frozen agent has given back what was throttled, and is gone.
TEST_F(Loop, AnAgentPausedForLongerThanItsLeaseRecoversWithoutAFight) {
  add("a", 10, {.quota = 30'000, .period = 100'000});
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return runtime.quota("a") < 30'000; }));
  bool lapsed = false;
  int recoveries = 0;
  here.loop.on_recovered([&] { ++recoveries; });
  here.loop.on_lapse_check([&] { return std::exchange(lapsed, false); });
  tree.set_quota(FakeRuntime::group("a"), 30'000, 100'000);

  lapsed = true;
  ASSERT_TRUE(until([&] { return recoveries == 1; }));
  ASSERT_TRUE(until([&] { return runtime.quota("a") < 30'000; }));
  fill(0.5);
  ASSERT_TRUE(until([&] { return runtime.quota("a") == 30'000; }));

  EXPECT_EQ(here.loop.counts().lapses, 1U);
  EXPECT_EQ(here.loop.hand_counts().alarms, 0U) << "it has not given way";
}

// Row 26.
TEST_F(Loop, ThrottlesLeftByACrashAreReleasedByTheNextRun) {
  for (const char* id : {"a", "b", "c", "d", "e"}) add(id, 10);
  start();
  fill(0.95);
  const auto all = [this](bool free) {
    const std::array ids{"a", "b", "c", "d", "e"};
    return std::all_of(ids.begin(), ids.end(), [&](auto id) { return is_free(id) == free; });
  };
  ASSERT_TRUE(until([&] { return all(false); }));
  agent.reset();
  fill(0.5);

  start();

  ASSERT_TRUE(until([&] { return all(true); }));
}

// Row 27: written down, never sent.
TEST_F(Loop, ARecordWithoutItsUpdateIsDropped) {
  add("a", 10, {.quota = 30'000, .period = 100'000});
  {
    auto journal = JournalFile::open(tree.root());
    const std::array records{JournalRecord{.kind = RecordKind::throttle,
                                           .boot_id = "boot-1",
                                           .generation = 4,
                                           .at = {},
                                           .id = "a",
                                           .pod_uid = {},
                                           .attempt = 0,
                                           .original = {30'000, 100'000},
                                           .ours = {2503, 100'000},
                                           .ladder_step = 3,
                                           .why = {}}};
    ASSERT_FALSE(journal->append(records).has_value());
  }
  Agent& here = start();
  ASSERT_TRUE(until([&] { return here.loop.counts().samples > 3; }));

  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);
  EXPECT_TRUE(here.loop.controller().held().empty());
}

// Row 29: no journal, yet the quota shows whose it is.
TEST_F(Loop, AQuotaOfOursWithoutARecordIsReleased) {
  add("a", 10, {.quota = 2503, .period = 100'000});
  start();

  ASSERT_TRUE(until([&] { return is_free("a"); }));
}

// Row 30.
TEST_F(Loop, RecordsOfAnotherBootAreIgnored) {
  add("a", 10, {.quota = 2500, .period = 100'000});
  {
    auto journal = JournalFile::open(tree.root());
    const std::array records{JournalRecord{.kind = RecordKind::throttle,
                                           .boot_id = "boot-0",
                                           .generation = 4,
                                           .at = {},
                                           .id = "a",
                                           .pod_uid = {},
                                           .attempt = 0,
                                           .original = {-1, 100'000},
                                           .ours = {2500, 100'000},
                                           .ladder_step = 3,
                                           .why = {}}};
    ASSERT_FALSE(journal->append(records).has_value());
  }
  Agent& here = start();
  ASSERT_TRUE(until([&] { return here.loop.counts().samples > 3; }));

  EXPECT_EQ(runtime.quota("a"), 2500);
}

// Row 70 and the ordinary end.
TEST_F(Loop, EveryThrottleIsReleasedAtTheEnd) {
  add("a", 10);
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return !is_free("a"); }));
  std::optional<bool> restored;

  here.loop.restore(std::chrono::seconds{20}, [&](bool all) { restored = all; });

  ASSERT_TRUE(until([&] { return restored.has_value(); }));
  EXPECT_TRUE(*restored);
  EXPECT_TRUE(is_free("a"));
}

// Row 62.
TEST_F(Loop, SwitchedOffItReleasesEveryThrottleAndStaysIdle) {
  add("a", 10);
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return !is_free("a"); }));

  here.loop.switch_on(false);
  ASSERT_TRUE(until([&] { return is_free("a") && here.loop.controller().held().empty(); }));
  const auto samples = here.loop.counts().samples;
  ASSERT_TRUE(until([&] { return here.loop.counts().samples > samples + 5; }));
  EXPECT_TRUE(is_free("a"));

  here.loop.switch_on(true);
  ASSERT_TRUE(until([&] { return !is_free("a"); }));
}

// Row 63.
TEST_F(Loop, ADryRunTouchesNothingAndWritesNothing) {
  add("a", 10);
  Agent& here = start(true);
  fill(0.95);

  ASSERT_TRUE(until([&] { return !here.loop.controller().held().empty(); }));

  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);
  EXPECT_EQ(here.journal.size(), 0U);
}

// Row 21.
TEST_F(Loop, WithoutARuntimeTheStateIsKeptAndHealthIsDegraded) {
  add("a", 10);
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return !is_free("a"); }));
  EXPECT_FALSE(here.loop.is_degraded());

  runtime.stop();

  ASSERT_TRUE(until([&] { return here.loop.is_degraded(); }));
  EXPECT_EQ(here.loop.controller().held().size(), 1U);
  EXPECT_EQ(runtime.calls("StopContainer"), 0);

  runtime.start();
  ASSERT_TRUE(until([&] { return !here.loop.is_degraded(); }));
}

// Row 25.
TEST_F(Loop, ItWaitsForARuntimeThatIsNotThereYet) {
  add("a", 10);
  runtime.stop();
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return here.loop.trouble().find("cri.sock") != std::string::npos; }));
  EXPECT_FALSE(here.fatal.has_value());

  runtime.start();

  ASSERT_TRUE(until([&] { return !is_free("a"); }));
}

// Row 24.
TEST_F(Loop, ARuntimeWithoutV1EndsTheLoop) {
  runtime.refuse("Version", 12);
  Agent& here = start();

  ASSERT_TRUE(until([&] { return here.fatal.has_value(); }));
}

// Rows 5 and 6.
TEST_F(Loop, PressureWithoutACandidateIsCountedAndMakesNoCall) {
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return here.loop.counts().exempt_blocked > 0; }));
  add("a", 10, {.space = "kube-system"});
  ASSERT_TRUE(until([&] { return here.loop.controller().seen().containers.size() == 1; }));
  const auto before = here.loop.counts().exempt_blocked;

  ASSERT_TRUE(until([&] { return here.loop.counts().exempt_blocked > before; }));

  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);
  EXPECT_EQ(runtime.calls("StopContainer"), 0);
}

// Row 9.
TEST_F(Loop, ASpikeBetweenTwoSamplesThrottlesOnlyWhenTheKernelReportsIt) {
  add("a", 10);
  PolicySettings rare = settings();
  rare.sample = rare.fast_sample = std::chrono::hours{1};
  Agent& here = start(false, rare);
  ASSERT_TRUE(until([&] { return here.loop.counts().samples == 1; }));

  fill(0.95);
  fill(0.5);
  here.loop.wake();
  ASSERT_TRUE(until([&] { return here.loop.counts().samples == 2; }));
  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);

  fill(0.95);
  here.loop.wake();
  ASSERT_TRUE(until([&] { return !is_free("a"); }));
}

// Row 37. Over CRI a sandbox keeps the annotations that it was made with; should a runtime ever
// show others, they count from then on.
TEST_F(Loop, AContainerThatOptsOutWhileThrottledIsReleasedAtTheNextLook) {
  add("a", 10);
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return !is_free("a"); }));

  runtime.annotate("a", "sluice.dev/throttle", "never");
  add("stranger", 10);  // whose pod has to be asked for: with it comes the other's new mark

  ASSERT_TRUE(until([&] { return is_free("a"); }));
  ASSERT_TRUE(until([&] {
    const auto held = here.loop.controller().held();
    return std::none_of(held.begin(), held.end(),
                        [](const HeldThrottle& one) { return one.container.id == "a"; });
  }));
}

// Row 61. Counted, not timed: how long it takes is the machine's affair. ThreadSanitizer would make
// it minutes, and what it could find the tests of a few containers show.
#if !defined(__SANITIZE_THREAD__)
TEST_F(Loop, FiveHundredContainersAreReadOnceAndGetTwentyUpdatesATick) {
  constexpr int kCount = 500;
  for (int i = 0; i < kCount; ++i) add("c" + std::to_string(1000 + i), 1);
  fill(0.88);  // near the edge, where the runtime is asked four times a second
  Agent& here = start();
  ASSERT_TRUE(
      until_at_last([&] { return here.loop.controller().seen().containers.size() == kCount; }));
  ASSERT_TRUE(until([&] { return here.loop.counts().looks >= 3; }));
  // A call that a slow machine lets time out is made again.
  EXPECT_LE(runtime.calls("ContainerStatus"), kCount + kCount / 10);
  EXPECT_EQ(runtime.calls("ListContainerStats"), 0);
  EXPECT_LE(runtime.calls("ListContainers"), static_cast<int>(here.loop.counts().looks) + 1);
  EXPECT_LE(runtime.calls("ListPodSandbox"), static_cast<int>(here.loop.counts().looks) + 1);

  const auto before = here.loop.counts().samples;
  fill(0.95);
  ASSERT_TRUE(until_at_last([&] {
    const auto ticks = here.loop.counts().samples - before;
    EXPECT_LE(runtime.calls("UpdateContainerResources"), 20 * static_cast<int>(ticks + 1));
    return here.loop.hand_counts().throttles >= kCount;
  }));
  EXPECT_LE(runtime.calls("UpdateContainerResources"), kCount + kCount / 10);

  std::optional<bool> restored;
  here.loop.restore(std::chrono::seconds{100}, [&](bool whole) { restored = whole; });
  ASSERT_TRUE(until_at_last([&] { return restored.has_value(); }));
  EXPECT_TRUE(*restored);
  EXPECT_GE(here.loop.hand_counts().releases, static_cast<std::uint64_t>(kCount));
}
#endif

// Row 66: as a kubelet does it.
TEST_F(Loop, APodThatIsKilledWhileMemoryIsShortLooksLikeAnEviction) {
  add("evicted", 10);
  add("staying", 10);
  PolicySettings headroom;
  headroom.sample = headroom.fast_sample = std::chrono::milliseconds{10};
  headroom.reserve = 0;
  headroom.pause = false;
  Agent& here = start(false, headroom, make_headroom);
  ASSERT_TRUE(until([&] { return here.loop.controller().seen().containers.size() == 2; }));
  EXPECT_DOUBLE_EQ(here.loop.controller().decision().upper, headroom.upper);
  const auto before = here.loop.counts().samples;
  fill(0.95);
  ASSERT_TRUE(until([&] { return here.loop.counts().samples > before + 2; }));

  runtime.end("evicted", 137, "Error");
  runtime.end_sandbox("evicted");
  add("stranger", 10);  // so that pods are listed at the next look, not within five seconds

  ASSERT_TRUE(until([&] { return here.loop.counts().evictions == 1; }));
  ASSERT_TRUE(
      until([&] { return here.loop.controller().decision().upper < headroom.upper - 0.015; }));
}

// Row 69.
TEST_F(Loop, MemoryThatCannotBeReadDegradesAndThrottlesNothing) {
  add("a", 10);
  Agent& here = start();
  ASSERT_TRUE(until([&] { return here.loop.is_recovered(); }));
  tree.put(tree.memory_directory("/node") + "/memory.stat", "");
  tree.put(tree.memory_directory("/node") + "/memory.usage_in_bytes", "");

  ASSERT_TRUE(until([&] { return here.loop.counts().memory_failures > 3; }));

  EXPECT_TRUE(here.loop.is_degraded());
  EXPECT_TRUE(is_free("a"));
}

}  // namespace
}  // namespace sluice::node_agent
