#include "autoscaler/node-agent/io/control_loop.h"

#include "tests/unit/autoscaler/node-agent/io/fake_runtime.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

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
  policy.policy = PolicyKind::paper;
  policy.step = 5;                                // everybody at once
  policy.escalate_after = std::chrono::hours{1};  // and nobody is sacrificed
  return policy;
}

// An agent on a played node, as App puts it together.
struct Agent {
  Agent(boost::asio::io_context& io, const FixtureTree& tree, const FakeRuntime& runtime,
        ControlLoop::Options options)
      : journal{std::move(*JournalFile::open(tree.root()))},
        memory{std::move(*MemorySense::open("cgroup:/node", tree.root()))},
        client{io, {.sockets = {runtime.socket()}}},
        watch{client, clock, {.root = tree.root()}},
        loop{{.io = io,
              .clock = clock,
              .log = log,
              .memory = &memory,
              .client = client,
              .watch = watch,
              .journal = options.dry_run ? nullptr : &journal},
             options} {
    log.set_least(log::Severity::error);
    loop.start([this](const Problem& problem) { fatal = problem; });
  }

  Clock clock;
  log::Logger log{"node-agent"};
  JournalFile journal;
  MemorySense memory;
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

  Agent& start(bool dry_run = false) {
    agent = std::make_unique<Agent>(
        io, tree, runtime,
        ControlLoop::Options{.policy = settings(), .boot_id = "boot-1", .dry_run = dry_run});
    return *agent;
  }

  bool until(const std::function<bool()>& done) { return run_until(io, done); }

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
  ASSERT_TRUE(until([&] { return here.loop.held().empty(); }));
}

TEST_F(Loop, TheJournalKnowsOfAThrottleBeforeTheKernel) {
  add("a", 10);
  Agent& here = start();
  ASSERT_TRUE(until([&] { return here.loop.is_recovered(); }));
  runtime.hang("UpdateContainerResources", true);

  fill(0.95);
  ASSERT_TRUE(until([&] { return runtime.calls("UpdateContainerResources") > 0; }));

  EXPECT_NE(here.journal.content()->find("throttle"), std::string::npos);
  EXPECT_TRUE(is_free("a"));
  runtime.hang("UpdateContainerResources", false);
}

// Row 26.
TEST_F(Loop, WhatACrashLeftIsGivenBackByTheNextLife) {
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
TEST_F(Loop, ARecordWhoseUpdateNeverCameIsDropped) {
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
  EXPECT_TRUE(here.loop.held().empty());
}

// Row 29: no journal, yet the quota tells whose it is.
TEST_F(Loop, AQuotaOfOursWithoutARecordIsGivenBack) {
  add("a", 10, {.quota = 2503, .period = 100'000});
  start();

  ASSERT_TRUE(until([&] { return is_free("a"); }));
}

// Row 30.
TEST_F(Loop, RecordsOfAnotherBootAreVoid) {
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
TEST_F(Loop, EverythingIsGivenBackAtTheEnd) {
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
TEST_F(Loop, SwitchedOffItGivesEverythingBackAndStaysIdle) {
  add("a", 10);
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return !is_free("a"); }));

  here.loop.switch_on(false);
  ASSERT_TRUE(until([&] { return is_free("a") && here.loop.held().empty(); }));
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

  ASSERT_TRUE(until([&] { return !here.loop.held().empty(); }));

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
  EXPECT_EQ(here.loop.held().size(), 1U);
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
TEST_F(Loop, ARuntimeWithoutV1EndsIt) {
  runtime.refuse("Version", 12);
  Agent& here = start();

  ASSERT_TRUE(until([&] { return here.fatal.has_value(); }));
}

// Rows 5 and 6.
TEST_F(Loop, NobodyToThrottleIsCountedAndNothingIsCalled) {
  Agent& here = start();
  fill(0.95);
  ASSERT_TRUE(until([&] { return here.loop.counts().exempt_blocked > 0; }));
  add("a", 10, {.space = "kube-system"});
  ASSERT_TRUE(until([&] { return here.loop.seen().containers.size() == 1; }));
  const auto before = here.loop.counts().exempt_blocked;

  ASSERT_TRUE(until([&] { return here.loop.counts().exempt_blocked > before; }));

  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);
  EXPECT_EQ(runtime.calls("StopContainer"), 0);
}

// Row 69.
TEST_F(Loop, MemoryThatCannotBeReadDegradesAndThrottlesNobody) {
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
