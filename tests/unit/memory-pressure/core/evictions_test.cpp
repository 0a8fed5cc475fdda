#include "memory-pressure/core/evictions.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

using std::chrono::seconds;

constexpr Ending kKilled{.exited = true, .exit_code = 137, .reason = "Error"};
constexpr Ending kTerminated{.exited = true, .exit_code = 143, .reason = "Error"};

TimePoint at(int time) {
  return TimePoint{seconds{time}};
}

TEST(Evictions, PodKilledByOthersWhileMemoryIsShortIsOneInAnyOrderOfEvents) {
  for (const Ending& ending : {kKilled, kTerminated}) {
    Evictions evictions;
    evictions.short_of_memory(at(10));
    EXPECT_FALSE(evictions.container_ended("a", ending, at(11)));
    EXPECT_TRUE(evictions.pod_ended("a", at(12)));

    EXPECT_FALSE(evictions.pod_ended("b", at(12)));
    EXPECT_TRUE(evictions.container_ended("b", ending, at(13)));
  }
}

TEST(Evictions, IsReportedOncePerPod) {
  Evictions evictions;
  evictions.short_of_memory(at(10));
  EXPECT_FALSE(evictions.container_ended("a", kKilled, at(11)));
  EXPECT_TRUE(evictions.pod_ended("a", at(12)));
  EXPECT_FALSE(evictions.container_ended("a", kKilled, at(12)));
  EXPECT_FALSE(evictions.pod_ended("a", at(13)));
}

TEST(Evictions, WithoutAShortageOfMemoryPodsAreJustRemoved) {
  Evictions evictions;
  EXPECT_FALSE(evictions.container_ended("a", kKilled, at(11)));
  EXPECT_FALSE(evictions.pod_ended("a", at(12)));

  evictions.short_of_memory(at(20));
  EXPECT_FALSE(evictions.container_ended("b", kKilled, at(50)));
  EXPECT_FALSE(evictions.pod_ended("b", at(50)));
}

TEST(Evictions, ARestartInTheSamePodIsNotOne) {
  Evictions evictions;
  evictions.short_of_memory(at(10));
  EXPECT_FALSE(evictions.container_ended("a", kKilled, at(11)));
}

TEST(Evictions, PodsThatEndedWellOrByTheKernelOrByUsAreNotEvicted) {
  const Ending well{.exited = true, .exit_code = 0, .reason = "Completed"};
  const Ending failed{.exited = true, .exit_code = 1, .reason = "Error"};
  const Ending kernel{.exited = true, .exit_code = 137, .reason = "OOMKilled"};
  const Ending ours{.exited = true, .exit_code = 143, .reason = "Error", .stopped_by_us = true};
  for (const Ending& ending : {well, failed, kernel, ours}) {
    Evictions evictions;
    evictions.short_of_memory(at(10));
    EXPECT_FALSE(evictions.container_ended("a", ending, at(11)));
    EXPECT_FALSE(evictions.pod_ended("a", at(12)));
  }
}

TEST(Evictions, AContainerStoppedByUsSparesItsWholePod) {
  Evictions evictions;
  evictions.short_of_memory(at(10));
  EXPECT_FALSE(evictions.container_ended(
      "a", {.exited = true, .exit_code = 137, .reason = "Error", .stopped_by_us = true}, at(11)));
  EXPECT_FALSE(evictions.container_ended("a", kKilled, at(11)));
  EXPECT_FALSE(evictions.pod_ended("a", at(12)));
}

TEST(Evictions, KeepsManyPodsForALimitedTime) {
  Evictions evictions;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_FALSE(evictions.container_ended("p" + std::to_string(i), kKilled, at(0)));
  }
  evictions.short_of_memory(at(40));
  EXPECT_FALSE(evictions.container_ended("late", kKilled, at(40)));
  EXPECT_TRUE(evictions.pod_ended("late", at(40)));
  EXPECT_FALSE(evictions.pod_ended("", at(40)));
}

}  // namespace
}  // namespace sluice::node_agent
