#include "common/loop/asio_loop.h"
#include "tests/unit/common/rpc/rpc_stage.h"
#include "tests/unit/memory-pressure/io/fake_runtime.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/recovery.h"
#include "memory-pressure/io/container_watch.h"
#include "memory-pressure/io/control_loop.h"
#include "memory-pressure/io/journal_file.h"
#include <memory>
#include <string>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using testing::FakeRuntime;
using testing::FixtureTree;
using testing::Hierarchy;

// Holds every container of a Job that was born while it was watched.
class EachBirth final : public Policy {
 public:
  Decision decide(const Observation& seen) override {
    Decision decision;
    for (const Container& each : seen.containers) {
      if (each.born && each.described && each.marks.batch) {
        decision.throttled.push_back({.id = each.id, .freeze = true});
      }
    }
    return decision;
  }
};

// Samples so seldom that only a birth can have caused a decision.
PolicySettings seldom() {
  PolicySettings policy;
  policy.sample = policy.fast_sample = std::chrono::hours{1};
  return policy;
}

class BirthLoop : public ::testing::Test {
 protected:
  BirthLoop() {
    log.set_least(log::Severity::error);
    loop.start([](const Problem&) {});
    EXPECT_TRUE(run_until(io, [&] { return loop.is_recovered(); }));
  }

  void begin(const std::string& id) {
    const std::string group = FakeRuntime::group(id);
    runtime.run(id,
                {.labels = {{"batch.kubernetes.io/job-name", "train"}}, .pid = 41, .created = true},
                {.used_mib = 2});
    tree.set_processes(group, "41\n");
    tree.put(tree.freezer_file(group), "");
    watch.born({{.id = id, .pid = 41, .group = group, .seen = clock.now(), .after = clock.now()}});
  }

  FixtureTree tree{Hierarchy::v1};
  FakeRuntime runtime{tree};
  boost::asio::io_context io{1};
  Clock clock;
  log::Logger log{"node-agent"};
  JournalFile journal{*JournalFile::open(tree.root())};
  AsioLoop time{io, clock};
  CriClient client{io, {.sockets = {runtime.socket()}}};
  ContainerWatch watch{client, clock, {.root = tree.root()}};
  ControlLoop loop{
      {.loop = time,
       .log = log,
       .memory = [] { return NodeMemory{.capacity = 100, .used = 50, .stall = {}}; },
       .runtime = client,
       .containers = watch,
       .journal = &journal},
      {.controller = {.policy = seldom(), .boot_id = "boot-1", .make_policy = [](const auto&) {
                        return std::make_unique<EachBirth>();
                      }}}};
};

TEST_F(BirthLoop, ABirthIsDecidedAtOnceAndItsHoldIsAWrite) {
  begin("c1");

  ASSERT_TRUE(run_until(
      io, [&] { return tree.get(tree.freezer_file(FakeRuntime::group("c1"))) == "FROZEN"; }));

  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);
  EXPECT_EQ(loop.hand_counts().freezes, 1U);
  const auto frozen = recover(*journal.content(), "boot-1", {}).frozen;
  ASSERT_EQ(frozen.size(), 1U);
  EXPECT_EQ(frozen[0].cgroup, FakeRuntime::group("c1"));
}

TEST_F(BirthLoop, SwitchedOffItThawsWhatItHolds) {
  begin("c1");
  const std::string file = tree.freezer_file(FakeRuntime::group("c1"));
  ASSERT_TRUE(run_until(io, [&] { return tree.get(file) == "FROZEN"; }));

  loop.switch_on(false);

  EXPECT_TRUE(run_until(io, [&] { return tree.get(file) == "THAWED"; }));
}

}  // namespace
}  // namespace sluice::node_agent
