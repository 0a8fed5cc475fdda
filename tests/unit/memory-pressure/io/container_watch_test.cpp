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

  // As BirthWatch tells it.
  void begin(const std::string& id, int pid) {
    tree.set_processes(FakeRuntime::group(id), std::to_string(pid) + "\n");
    tree.set_process(pid, FakeRuntime::group(id));
    watch.born({{.id = id,
                 .pid = pid,
                 .group = FakeRuntime::group(id),
                 .seen = clock.now(),
                 .after = clock.now()}});
  }

  bool until_described(const std::string& id) {
    return run_until(io, [&] {
      const auto seen = find(id);
      return seen && seen->described;
    });
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

TEST_F(Watch, AContainerIsIdentifiedByItsPodAndItsControlGroup) {
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

TEST_F(Watch, WithoutAControlGroupTheRuntimesFiguresAreUsed) {
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

TEST_F(Watch, ANewbornIsListedAtOnceWithUseAndLimitOfItsControlGroup) {
  runtime.run("c1", {.pid = 41, .created = true}, {.used_mib = 2, .cold_mib = 0, .limit_mib = 64});
  int told = 0;
  watch.on_born([&] { ++told; });

  begin("c1", 41);

  const auto seen = find("c1");
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(seen->described);
  EXPECT_TRUE(seen->born.has_value());
  EXPECT_EQ(seen->working_set, 2 * kMiB);
  EXPECT_EQ(seen->memory_limit, 64 * kMiB);
  EXPECT_EQ(seen->cgroup, FakeRuntime::group("c1"));
  EXPECT_EQ(seen->processes, 1U);
}

TEST_F(Watch, ANewbornIsDescribedByOneStatusAndItsPod) {
  runtime.run("c1",
              {.pod = "train-7-x2f9k",
               .space = "batch",
               .name = "train",
               .labels = {{"batch.kubernetes.io/job-name", "train-7"}},
               .pid = 41,
               .created = true},
              {.used_mib = 2, .cold_mib = 0, .limit_mib = 64});
  int told = 0;
  watch.on_born([&] { ++told; });

  begin("c1", 41);
  ASSERT_TRUE(until_described("c1"));

  const auto seen = find("c1");
  EXPECT_TRUE(seen->marks.batch);
  EXPECT_FALSE(seen->marks.system);
  EXPECT_EQ(seen->pod, "train-7-x2f9k");
  EXPECT_EQ(seen->name, "train");
  EXPECT_EQ(seen->image, "sha256:train");
  EXPECT_EQ(seen->job_template, "train");
  EXPECT_EQ(told, 2);
  EXPECT_EQ(runtime.calls("ContainerStatus"), 1);
  EXPECT_EQ(runtime.calls("ListContainers"), 0);
}

TEST_F(Watch, ANewbornIsDescribedAtOnceWhenTheRuntimeWasAskedBeforeItsBirth) {
  runtime.run("c1",
              {.pod = "train-7-x2f9k",
               .labels = {{"batch.kubernetes.io/job-name", "train-7"}},
               .pid = 41,
               .created = true},
              {.used_mib = 2});
  watch.expect("c1");
  ASSERT_TRUE(run_until(io, [&] { return runtime.calls("ListPodSandbox") == 1; }));
  ASSERT_TRUE(look());
  EXPECT_FALSE(find("c1").has_value());

  begin("c1", 41);

  EXPECT_TRUE(find("c1")->described);
  EXPECT_TRUE(find("c1")->marks.batch);
  EXPECT_EQ(runtime.calls("ContainerStatus"), 1);
}

TEST_F(Watch, AnAnswerThatComesAfterTheBirthIsNotAskedForTwice) {
  runtime.run("c1", {.pid = 41, .created = true}, {.used_mib = 2});

  watch.expect("c1");
  begin("c1", 41);
  ASSERT_TRUE(until_described("c1"));

  EXPECT_EQ(runtime.calls("ContainerStatus"), 1);
}

TEST_F(Watch, APodThatIsKnownWithItsContainerIsNotAskedFor) {
  runtime.run("c1", {.pod = "train-7-x2f9k", .pid = 41, .created = true}, {.used_mib = 2});
  cri::Sandbox pod;
  pod.id = pod.name = "train-7-x2f9k";
  pod.space = "batch";
  pod.labels = {{"batch.kubernetes.io/job-name", "train-7"}};

  watch.expect("c1", pod);
  watch.expect("c1", pod);
  begin("c1", 41);
  ASSERT_TRUE(until_described("c1"));

  EXPECT_TRUE(find("c1")->marks.batch);
  EXPECT_EQ(find("c1")->pod_namespace, "batch");
  EXPECT_EQ(runtime.calls("ListPodSandbox"), 0);
  EXPECT_EQ(runtime.calls("ContainerStatus"), 1);
}

TEST_F(Watch, AQuestionThatCameTooEarlyIsAskedAgainAtTheBirth) {
  watch.expect("c1");
  ASSERT_TRUE(run_until(io, [&] { return runtime.calls("ContainerStatus") == 1; }));
  runtime.run("c1", {.pid = 41, .created = true}, {.used_mib = 2});

  begin("c1", 41);
  ASSERT_TRUE(until_described("c1"));

  EXPECT_FALSE(find("c1")->marks.system);
}

TEST_F(Watch, ANewbornThatNoListHasYetIsKept) {
  runtime.run("c1", {.pid = 41, .created = true}, {.used_mib = 2});
  begin("c1", 41);
  ASSERT_TRUE(until_described("c1"));

  ASSERT_TRUE(look());
  EXPECT_TRUE(find("c1").has_value());
  runtime.started("c1");
  ASSERT_TRUE(look());

  EXPECT_TRUE(find("c1").has_value());
  EXPECT_EQ(runtime.calls("ContainerStatus"), 1);
}

TEST_F(Watch, ANewbornThatEndsBeforeAnyListIsReportedAndDropped) {
  runtime.run("c1", {.pid = 41, .created = true}, {.used_mib = 2});
  begin("c1", 41);
  ASSERT_TRUE(until_described("c1"));
  int ended = 0;
  watch.on_ended([&](const Container&, const cri::ContainerStatus&) { ++ended; });
  tree.set_processes(FakeRuntime::group("c1"), "");
  tree.set_memory(FakeRuntime::group("c1"), {.used_mib = 0});
  runtime.end("c1", 137, "OOMKilled");
  watch.sample(clock.now() + std::chrono::seconds{1}, true);
  EXPECT_EQ(find("c1")->processes, 0U);

  ASSERT_TRUE(look());

  EXPECT_TRUE(run_until(io, [&] { return ended == 1; }));
  EXPECT_FALSE(find("c1").has_value());
}

TEST_F(Watch, ASandboxThatBeginsIsLeftAloneAndStaysOnlyWhileItIsHeld) {
  tree.set_memory(FakeRuntime::group("s1"), {.used_mib = 1});
  begin("s1", 41);
  tree.put(tree.freezer_file(FakeRuntime::group("s1")), "");
  tree.set_frozen(FakeRuntime::group("s1"), true);
  watch.sample(clock.now() + std::chrono::seconds{1}, true);
  ASSERT_TRUE(until_described("s1"));
  ASSERT_TRUE(look());
  EXPECT_TRUE(find("s1")->marks.system);

  tree.set_frozen(FakeRuntime::group("s1"), false);
  watch.sample(clock.now() + std::chrono::seconds{2}, true);
  ASSERT_TRUE(look());

  EXPECT_FALSE(find("s1").has_value());
}

TEST_F(Watch, AStatusThatFailsIsAskedForAgainByTheNextLook) {
  runtime.run("c1", {.pid = 41, .created = true}, {.used_mib = 2});
  runtime.refuse("ContainerStatus", 14);
  begin("c1", 41);
  ASSERT_TRUE(run_until(io, [&] { return runtime.calls("ContainerStatus") == 1; }));
  ASSERT_TRUE(look());
  runtime.refuse("ContainerStatus", 0);

  ASSERT_TRUE(look());

  EXPECT_TRUE(until_described("c1"));
}

TEST_F(Watch, OneThatIsKnownOrOverIsNoNewborn) {
  runtime.run("c1", {.pid = 41}, {.used_mib = 2});
  ASSERT_TRUE(look());
  int told = 0;
  watch.on_born([&] { ++told; });

  begin("c1", 41);
  watch.born({{.id = "c2", .pid = 99, .group = "/pods/c2", .seen = {}, .after = {}}});

  EXPECT_EQ(told, 0);
  EXPECT_FALSE(find("c1")->born.has_value());
}

TEST_F(Watch, ANewbornOfWhichOnlyTheProcessIsKnownIsFoundInItsGroup) {
  runtime.run("c1", {.pid = 41, .created = true}, {.used_mib = 2});
  EXPECT_FALSE(watch.knows("c1"));

  watch.born({{.id = "c1", .pid = 41, .group = {}, .seen = clock.now(), .after = {}}});

  EXPECT_TRUE(watch.knows("c1"));
  EXPECT_EQ(find("c1")->cgroup, FakeRuntime::group("c1"));
}

TEST_F(Watch, AHoldIsAWriteToItsFreezerAndIsSeenAtOnce) {
  runtime.run("c1", {.pid = 41}, {.used_mib = 2});
  ASSERT_TRUE(look());
  const std::string group = FakeRuntime::group("c1");
  tree.put(tree.freezer_file(group), "");
  tree.set_frozen(group, true);
  std::optional<Outcome> outcome;

  watch.freeze({.id = "c1", .cgroup = group, .frozen = true},
               [&](Outcome got, const std::string&) { outcome = got; });

  EXPECT_EQ(outcome, Outcome::ok);
  EXPECT_EQ(tree.get(tree.freezer_file(group)), "FROZEN");
  EXPECT_EQ(find("c1")->frozen, true);
}

TEST_F(Watch, AJobThatAnEarlierAgentFrozeIsSeenSoAndOneThatIsPausedIsNot) {
  const std::map<std::string, std::string> job{{"batch.kubernetes.io/job-name", "train"}};
  runtime.run("ours", {.labels = job, .pid = 41}, {.used_mib = 2});
  runtime.run("theirs", {.pod = "other", .labels = job, .pid = 42, .paused = true},
              {.used_mib = 2});
  for (const char* id : {"ours", "theirs"}) tree.set_frozen(FakeRuntime::group(id), true);

  ASSERT_TRUE(look());
  watch.sample(clock.now() + std::chrono::seconds{1}, true);

  EXPECT_EQ(find("ours")->frozen, true);
  EXPECT_FALSE(find("theirs")->frozen.has_value());
  EXPECT_EQ(runtime.calls("Get"), 2);
}

TEST_F(Watch, AQuotaIsInTheControlGroupBeforeTheRuntimeIsAsked) {
  runtime.run("c1", {.pid = 41}, {.used_mib = 2});
  ASSERT_TRUE(look());

  watch.write_first({.id = "c1", .quota = {2503, 100'000}});
  watch.write_first({.id = "unknown", .quota = {2503, 100'000}});

  EXPECT_EQ(runtime.quota("c1"), 2503);
  EXPECT_EQ(runtime.calls("UpdateContainerResources"), 0);
}

// Row 44b.
TEST_F(Watch, StatsThatAreNotThereYetAreUnknownAndNotZero) {
  runtime.run("c1", {.pid = 0}, {});

  ASSERT_TRUE(look());

  EXPECT_FALSE(find("c1")->working_set.has_value());
}

// Rows 16 and 44: 0 stands for "never set".
TEST_F(Watch, UnsetValuesAreNoLimit) {
  runtime.run("c1", {.pid = 0, .working_set = 1}, {});

  ASSERT_TRUE(look());

  EXPECT_EQ(find("c1")->memory_limit, 0);
  EXPECT_EQ(find("c1")->quota, (CpuQuota{-1, 100'000}));
}

TEST_F(Watch, AProcessOfAnotherContainerIsNotMistakenForIt) {
  runtime.run("c1", {.pid = 41, .working_set = 7}, {.used_mib = 50, .cold_mib = 0});
  tree.set_process(41, "/another/group");

  ASSERT_TRUE(look());

  EXPECT_EQ(find("c1")->working_set, 7);
}

// Row 69d.
TEST_F(Watch, ContainersWithoutAStatusAreIgnored) {
  runtime.run("c1", {.pid = 41}, {});
  runtime.refuse("ContainerStatus", 5);
  for (int round = 0; round < 5; ++round) ASSERT_TRUE(look());

  EXPECT_TRUE(watch.containers().empty());
  EXPECT_EQ(runtime.calls("ContainerStatus"), 3);
}

TEST_F(Watch, HowAContainerEndedIsReported) {
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

// Row 21: what was last heard stays.
TEST_F(Watch, ContainersAreKeptWhileTheRuntimeDoesNotAnswer) {
  runtime.run("c1", {.pid = 41}, {});
  ASSERT_TRUE(look());
  EXPECT_TRUE(watch.answers());
  runtime.stop();

  EXPECT_FALSE(look());

  EXPECT_FALSE(watch.answers());
  EXPECT_EQ(watch.containers().size(), 1U);
}

// Row 22.
TEST_F(Watch, ARuntimeThatReturnsIsReadAgain) {
  runtime.run("c1", {.pid = 41}, {});
  ASSERT_TRUE(look());
  runtime.stop();
  EXPECT_FALSE(look());
  runtime.start();

  EXPECT_TRUE(look());

  EXPECT_EQ(watch.containers().size(), 1U);
}

TEST_F(Watch, AContainerIsNotShownBeforeItsMarksAreRead) {
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

// Row 22: a runtime that was started again may not list all of its pods at once.
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

// As in a pod with a namespace of control groups.
TEST(WatchOfV2, ANewbornIsReadWhereItWasSeenWhateverItsProcessShows) {
  const FixtureTree tree{Hierarchy::v2};
  boost::asio::io_context io{1};
  const Clock clock;
  CriClient client{io, {.sockets = {}}};
  ContainerWatch watch{client, clock, {.root = tree.root()}};
  tree.set_memory("/kubepods/c1", {.used_mib = 2});
  tree.set_frozen("/kubepods/c1", false);
  tree.set_process(41, "/../../c1");

  watch.born({{.id = "c1", .pid = 41, .group = "/kubepods/c1", .seen = {}, .after = {}}});

  ASSERT_EQ(watch.containers().size(), 1U);
  EXPECT_EQ(watch.containers()[0].working_set, 2 * kMiB);
  EXPECT_EQ(watch.containers()[0].frozen, false);
  EXPECT_EQ(watch.containers()[0].cgroup, "/kubepods/c1");
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
