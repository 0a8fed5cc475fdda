#include "memory-pressure/io/container_watch.h"

#include "tests/unit/common/rpc/rpc_stage.h"
#include "tests/unit/memory-pressure/io/fake_runtime.h"

#include <gtest/gtest.h>

#include <optional>

namespace sluice::node_agent {
namespace {

using rpc::testing::run_until;
using testing::FakeRuntime;
using testing::FixtureTree;
using testing::Hierarchy;
using testing::kMiB;

class Watch : public ::testing::Test {
 protected:
  Watch() {
    bool connected = false;
    client.connect([&](const auto& version) { connected = version.has_value(); });
    EXPECT_TRUE(run_until(io, [&] { return connected; }));
  }

  bool look() {
    std::optional<bool> answered;
    watch.look([&](bool got) { answered = got; });
    EXPECT_TRUE(run_until(io, [&] { return answered.has_value(); }));
    return answered.value_or(false);
  }

  std::optional<Container> find(const std::string& id) const {
    for (const Container& each : watch.containers()) {
      if (each.id == id) return each;
    }
    return std::nullopt;
  }

  FixtureTree tree{Hierarchy::v1};
  FakeRuntime runtime{tree};
  boost::asio::io_context io{1};
  Clock clock;
  CriClient client{io, {.sockets = {runtime.socket()}}};
  ContainerWatch watch{client, clock, {.root = tree.root()}};
};

TEST_F(Watch, AContainerIsKnownByItsPodAndItsControlGroup) {
  runtime.run("c1", {.pod = "web", .space = "shop", .pid = 41},
              {.used_mib = 50, .cold_mib = 10, .limit_mib = 64});

  ASSERT_TRUE(look());

  const auto seen = find("c1");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->pod, "web");
  EXPECT_EQ(seen->pod_namespace, "shop");
  EXPECT_EQ(seen->working_set, 40 * kMiB);
  EXPECT_EQ(seen->memory_limit, 64 * kMiB);
  EXPECT_EQ(seen->quota, (CpuQuota{-1, 100'000}));
  EXPECT_EQ(runtime.calls("ListContainerStats"), 0);
}

TEST_F(Watch, UseIsReadAtEachSampleWithoutTheRuntime) {
  runtime.run("c1", {.pid = 41}, {.used_mib = 50, .cold_mib = 0, .limit_mib = 64});
  ASSERT_TRUE(look());
  const int asked = runtime.calls("ContainerStatus") + runtime.calls("ListContainers");
  tree.set_memory(FakeRuntime::group("c1"), {.used_mib = 60, .cold_mib = 0, .limit_mib = 64});

  watch.sample(clock.now() + std::chrono::seconds{1}, true);

  EXPECT_EQ(find("c1")->working_set, 60 * kMiB);
  EXPECT_EQ(runtime.calls("ContainerStatus") + runtime.calls("ListContainers"), asked);
}

TEST_F(Watch, WithoutAControlGroupTheRuntimesFiguresDo) {
  runtime.run("c1",
              {.pid = 0,
               .quota = 30'000,
               .period = 100'000,
               .memory_limit = 64 * kMiB,
               .working_set = 20 * kMiB},
              {});

  ASSERT_TRUE(look());

  EXPECT_EQ(find("c1")->working_set, 20 * kMiB);
  EXPECT_EQ(find("c1")->memory_limit, 64 * kMiB);
  EXPECT_EQ(find("c1")->quota, (CpuQuota{30'000, 100'000}));
}

// Row 44b.
TEST_F(Watch, StatsThatAreNotThereYetAreUnknownAndNotZero) {
  runtime.run("c1", {.pid = 0}, {});

  ASSERT_TRUE(look());

  EXPECT_FALSE(find("c1")->working_set.has_value());
}

// Rows 16 and 44: 0 stands for "never set".
TEST_F(Watch, WhatWasNeverSetIsNoLimit) {
  runtime.run("c1", {.pid = 0, .working_set = 1}, {});

  ASSERT_TRUE(look());

  EXPECT_EQ(find("c1")->memory_limit, 0);
  EXPECT_EQ(find("c1")->quota, (CpuQuota{-1, 100'000}));
}

TEST_F(Watch, AProcessOfAnotherContainerIsNotMistakenForIt) {
  runtime.run("c1", {.pid = 41, .working_set = 7}, {.used_mib = 50, .cold_mib = 0});
  tree.set_process(41, "/somebody/else");

  ASSERT_TRUE(look());

  EXPECT_EQ(find("c1")->working_set, 7);
}

// Row 69d.
TEST_F(Watch, GhostsAreIgnored) {
  runtime.run("c1", {.pid = 41}, {});
  runtime.refuse("ContainerStatus", 5);
  for (int round = 0; round < 5; ++round) ASSERT_TRUE(look());

  EXPECT_TRUE(watch.containers().empty());
  EXPECT_EQ(runtime.calls("ContainerStatus"), 3);
}

TEST_F(Watch, HowAContainerEndedIsTold) {
  runtime.run("c1", {.pid = 41}, {});
  ASSERT_TRUE(look());
  std::vector<cri::ContainerStatus> ended;
  watch.on_ended(
      [&](const Container&, const cri::ContainerStatus& status) { ended.push_back(status); });
  runtime.end("c1", 137, "OOMKilled");

  ASSERT_TRUE(look());
  ASSERT_TRUE(run_until(io, [&] { return ended.size() == 1; }));

  EXPECT_TRUE(watch.containers().empty());
  EXPECT_EQ(ended[0].exit_code, 137);
  EXPECT_EQ(ended[0].reason, "OOMKilled");
}

// Row 21: the last answer stays.
TEST_F(Watch, ARuntimeThatIsAwayLeavesWhatWasLastHeard) {
  runtime.run("c1", {.pid = 41}, {});
  ASSERT_TRUE(look());
  EXPECT_TRUE(watch.answers());
  runtime.stop();

  EXPECT_FALSE(look());

  EXPECT_FALSE(watch.answers());
  EXPECT_EQ(watch.containers().size(), 1U);
}

// Row 22.
TEST_F(Watch, ARuntimeThatComesBackIsHeardAgain) {
  runtime.run("c1", {.pid = 41}, {});
  ASSERT_TRUE(look());
  runtime.stop();
  EXPECT_FALSE(look());
  runtime.start();

  EXPECT_TRUE(look());

  EXPECT_EQ(watch.containers().size(), 1U);
}

TEST_F(Watch, AContainerIsNotShownBeforeItsMarksAreKnown) {
  runtime.run("c1", {.space = "kube-system", .pid = 41}, {});
  runtime.refuse("ListPodSandbox", 2);
  ASSERT_TRUE(look());
  ASSERT_TRUE(find("c1").has_value());
  EXPECT_TRUE(find("c1")->marks.system) << "hands off until it is known whose it is";
  runtime.refuse("ListPodSandbox", 0);

  ASSERT_TRUE(look());

  EXPECT_TRUE(find("c1")->marks.system);
  EXPECT_EQ(find("c1")->pod_namespace, "kube-system");
}

// Row 22: a runtime that was started again may not know all of its pods at once.
TEST_F(Watch, APodThatIsNotListedForAMomentKeepsItsMarks) {
  runtime.run("c1", {.space = "shop", .pid = 41}, {});
  ASSERT_TRUE(look());
  runtime.forget_sandbox("c1");
  runtime.run("stranger", {.pod = "other", .pid = 42}, {});

  ASSERT_TRUE(look());

  ASSERT_EQ(watch.containers().size(), 2U);
  EXPECT_FALSE(find("c1")->marks.system);
  EXPECT_EQ(find("c1")->pod_namespace, "shop");
}

TEST_F(Watch, AReadBackShowsTheKernelsQuota) {
  runtime.run("c1", {.pid = 41}, {});
  ASSERT_TRUE(look());
  tree.set_quota(FakeRuntime::group("c1"), 2503, 100'000);
  std::optional<CpuQuota> quota;

  watch.read_quota("c1", [&](auto got) { quota = got; });

  EXPECT_EQ(quota, (CpuQuota{2503, 100'000}));
}

// Row 61.
TEST_F(Watch, ManyContainersAreReadLessOften) {
  EXPECT_LE(ContainerWatch::interval(12, false), std::chrono::milliseconds{120});
  EXPECT_LE(ContainerWatch::interval(12, true), std::chrono::milliseconds{10});
  EXPECT_LE(ContainerWatch::interval(500, true), std::chrono::milliseconds{400});
}

TEST(PidInInfo, IsFoundAtTheTopOnly) {
  EXPECT_EQ(pid_in(R"({"pid":12,"config":{"pid":9}})"), 12);
  EXPECT_FALSE(pid_in(R"({"config":{"pid":9}})").has_value());
  EXPECT_FALSE(pid_in(R"({"pid":0})").has_value());
  EXPECT_FALSE(pid_in(R"({"pid":"12"})").has_value());
  EXPECT_FALSE(pid_in("").has_value());
}

}  // namespace
}  // namespace sluice::node_agent
