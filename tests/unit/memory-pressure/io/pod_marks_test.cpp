#include "memory-pressure/io/pod_marks.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

constexpr std::string_view kGuaranteed = "/kubepods/pod7/c1";

class PodMarks : public ::testing::Test {
 protected:
  PodMarks() { container.name = "app"; }

  PodFacts facts(std::string_view cgroup = {}) const {
    return {.sandbox = &pod, .container = &container, .resources = &given, .cgroup = cgroup};
  }

  cri::Sandbox pod;
  cri::Container container;
  cri::Resources given;
};

TEST_F(PodMarks, APlainContainerHasNone) {
  const Marks marks = marks_of(facts());

  EXPECT_FALSE(marks.never || marks.holds_lock || marks.whole_pod || marks.sacrifice_jobs ||
               marks.job || marks.system || marks.init || marks.request_proxy || marks.serves ||
               marks.exclusive_cpus);
}

TEST_F(PodMarks, OurAnnotationsAreRead) {
  pod.annotations = {{"sluice.dev/throttle", "never"},
                     {"sluice.dev/holds-lock", "true"},
                     {"sluice.dev/pause", "pod"},
                     {"sluice.dev/sacrifice-jobs", "true"}};

  const Marks marks = marks_of(facts());

  EXPECT_TRUE(marks.never && marks.holds_lock && marks.whole_pod && marks.sacrifice_jobs);
}

// Row 36.
TEST_F(PodMarks, SystemPodsAreMarked) {
  EXPECT_FALSE(marks_of(facts()).system);
  pod.space = "kube-system";
  EXPECT_TRUE(marks_of(facts()).system);
  pod.space = "default";
  pod.annotations = {{"kubernetes.io/config.source", "file"}};
  EXPECT_TRUE(marks_of(facts()).system);
  pod.annotations = {{"kubernetes.io/config.source", "api"}};
  EXPECT_FALSE(marks_of(facts()).system);
  pod.annotations = {{"kubernetes.io/config.mirror", "1"}};
  EXPECT_TRUE(marks_of(facts()).system);
  pod.annotations = {};
  given.oom_score_adj = -997;
  EXPECT_TRUE(marks_of(facts("/kubepods/burstable/pod7/c1")).system);
  EXPECT_FALSE(marks_of(facts(kGuaranteed)).system);
}

// Row 36.
TEST_F(PodMarks, OurOwnPodIsMarked) {
  PodFacts own = facts("/kubepods/burstable/pod7/c1");
  own.own_cgroup = own.cgroup;

  EXPECT_TRUE(marks_of(own).system);
  own.own_cgroup = own.cgroup = "/";
  EXPECT_FALSE(marks_of(own).system);
}

// Row 36.
TEST_F(PodMarks, TheRequestProxyIsRecognizedByItsNameOrTheAnnotation) {
  container.name = "queue-proxy";
  EXPECT_TRUE(marks_of(facts()).request_proxy);
  EXPECT_FALSE(marks_of(facts()).serves);
  container.name = "side";
  pod.annotations = {{"sluice.dev/injected", "side"}};
  EXPECT_TRUE(marks_of(facts()).request_proxy);
}

TEST_F(PodMarks, AContainerBehindAProxyServes) {
  PodFacts beside = facts();
  beside.has_request_proxy = true;
  EXPECT_TRUE(marks_of(beside).serves);
  EXPECT_FALSE(marks_of(facts()).serves);
  pod.annotations = {{"sluice.dev/injected", "true"}};
  EXPECT_TRUE(marks_of(facts()).serves);
}

// Row 35.
TEST_F(PodMarks, PinnedGuaranteedPodsAreMarked) {
  given.cpu_shares = 2048;
  given.cpuset = "2-3";
  EXPECT_TRUE(marks_of(facts(kGuaranteed)).exclusive_cpus);
  EXPECT_FALSE(marks_of(facts("/kubepods/burstable/pod7/c1")).exclusive_cpus);
  given.cpuset = "0-7";  // the shared pool
  EXPECT_FALSE(marks_of(facts(kGuaranteed)).exclusive_cpus);
  given.cpuset = "";
  EXPECT_FALSE(marks_of(facts(kGuaranteed)).exclusive_cpus);
}

// Row 49.
TEST_F(PodMarks, PodsOfAJobAreMarked) {
  pod.labels = {{"batch.kubernetes.io/job-name", "j"}};

  EXPECT_TRUE(marks_of(facts()).job);
}

TEST_F(PodMarks, InitContainersAreMarked) {
  container.name = "init-db";
  EXPECT_TRUE(marks_of(facts()).init);
  container.name = "initial";
  EXPECT_FALSE(marks_of(facts()).init);
}

TEST_F(PodMarks, TheClassIsThatOfTheControlGroup) {
  EXPECT_EQ(qos_of(facts("/kubepods/besteffort/pod7/c1")), QosClass::best_effort);
  EXPECT_EQ(qos_of(facts("/kubepods.slice/kubepods-burstable.slice/x")), QosClass::burstable);
  EXPECT_EQ(qos_of(facts(kGuaranteed)), QosClass::guaranteed);
}

TEST_F(PodMarks, ElseTheClassIsThatOfTheLimits) {
  EXPECT_EQ(qos_of(facts("/n1/c1")), QosClass::best_effort);
  given.memory_limit = 1;
  EXPECT_EQ(qos_of(facts("/n1/c1")), QosClass::burstable);
  given.cpu_quota_us = 50'000;
  given.cpu_period_us = 100'000;
  given.cpu_shares = 512;
  EXPECT_EQ(qos_of(facts("/n1/c1")), QosClass::guaranteed);
  given.cpu_shares = 256;
  EXPECT_EQ(qos_of(facts("/n1/c1")), QosClass::burstable);
}

TEST(JobTemplate, IsTheNameOfTheJobWithoutItsNumbers) {
  const cri::Container container;
  const auto template_of = [&container](const std::string& label) {
    cri::Sandbox pod;
    pod.labels = {{"batch.kubernetes.io/job-name", label}};
    return job_template_of({.sandbox = &pod, .container = &container});
  };

  EXPECT_EQ(template_of("backup-28401120"), "backup");
  EXPECT_EQ(template_of("train-7-12"), "train");
  EXPECT_EQ(template_of("train-v2"), "train-v2");
  EXPECT_EQ(template_of("7"), "7");
  EXPECT_EQ(template_of("-7"), "-7");
  EXPECT_EQ(job_template_of({.container = &container}), "");
}

TEST(CpuList, IsCounted) {
  EXPECT_EQ(cpus_in("0"), 1);
  EXPECT_EQ(cpus_in("0-2,5"), 4);
  EXPECT_EQ(cpus_in(""), 0);
  EXPECT_EQ(cpus_in("x"), 0);
  EXPECT_EQ(cpus_in("3-1"), 0);
}

}  // namespace
}  // namespace sluice::node_agent
