#include "autoscaler/core/decision/pods.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice::autoscaler {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

Pod ready_pod(std::string name = "a", Duration age = seconds{100}) {
  return {.id = {name},
          .address = name + ":9090",
          .phase = PodPhase::running,
          .ready = true,
          .started_at = kStart - age};
}

bool is_candidate(const Pod& pod) {
  return scrape_candidates(std::array{pod}, seconds{60}, kStart) != ScrapeCandidates{};
}

TEST(ScrapeCandidates, RunningAndReadyIsScraped) {
  EXPECT_TRUE(is_candidate(ready_pod()));
}

TEST(ScrapeCandidates, RunningAndNotReadyIsNot) {
  Pod pod = ready_pod();
  pod.ready = false;

  EXPECT_FALSE(is_candidate(pod));
}

TEST(ScrapeCandidates, PendingIsNot) {
  Pod pod = ready_pod();
  pod.phase = PodPhase::pending;
  EXPECT_FALSE(is_candidate(pod));

  pod.terminating = true;
  EXPECT_FALSE(is_candidate(pod));
}

// Row 91.
TEST(ScrapeCandidates, ReadyButTerminatingIsNot) {
  Pod pod = ready_pod();
  pod.terminating = true;

  EXPECT_FALSE(is_candidate(pod));
}

TEST(ScrapeCandidates, FinishedIsNot) {
  Pod pod = ready_pod();
  pod.phase = PodPhase::other;
  EXPECT_FALSE(is_candidate(pod));

  pod.terminating = true;
  EXPECT_FALSE(is_candidate(pod));
}

TEST(ScrapeCandidates, ThrottledIsNot) {
  Pod pod = ready_pod();
  pod.throttled = true;

  EXPECT_FALSE(is_candidate(pod));
}

TEST(ScrapeCandidates, OldFromTheStableWindowOn) {
  const std::array pods{ready_pod("young", seconds{60} - nanoseconds{1}),
                        ready_pod("old", seconds{60}), ready_pod("older", seconds{3600})};

  EXPECT_EQ(scrape_candidates(pods, seconds{60}, kStart),
            (ScrapeCandidates{.old = {"old:9090", "older:9090"}, .young = {"young:9090"}}));
}

TEST(ScrapeCandidates, PodOfUnknownAgeIsYoung) {
  Pod pod = ready_pod("a");
  pod.started_at.reset();
  EXPECT_EQ(scrape_candidates(std::array{pod}, seconds{60}, kStart).young.size(), 1U);

  pod.started_at = kStart + seconds{5};
  EXPECT_EQ(scrape_candidates(std::array{pod}, seconds{60}, kStart).young.size(), 1U)
      << "started in the future, by the clock of its node";
}

}  // namespace
}  // namespace sluice::autoscaler
