// Whose word counts first, a pod's sidecar or the platform, where that differs from pod to pod.

#include "activator/core/destinations.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

// `+a` and `-a` for pods that may be used from now on, or no longer.
std::string show(const DestinationChanges& changes) {
  std::string text;
  for (const DestinationChange& one : changes) {
    text += (one.kind == DestinationChange::Kind::pod_usable ? "+" : "-") + one.dest;
  }
  return text;
}

class PodReadiness : public ::testing::Test {
 protected:
  std::string tell(bool ready, bool fast_ready) {
    DestinationChanges changes;
    destinations_.set_pod("a", {ready, fast_ready}, kStart, changes);
    return show(changes);
  }

  // Every probe that is due passes.
  std::string probe() {
    DestinationChanges changes;
    while (const auto probe = destinations_.next_probe(kStart)) {
      destinations_.probed(probe->number, ProbeResult::passed, kStart, 0ms, changes);
    }
    return show(changes);
  }

  Destinations destinations_{{}};
};

TEST_F(PodReadiness, UsesAFastReadyPodBeforeThePlatformReportsItReady) {
  EXPECT_EQ(tell(false, true), "");
  EXPECT_EQ(probe(), "+a");
}

TEST_F(PodReadiness, DoesNotProbeAnotherPodBeforeThePlatformReportsItReady) {
  (void)tell(false, false);
  EXPECT_EQ(probe(), "");

  (void)tell(true, false);

  EXPECT_EQ(probe(), "+a");
}

TEST_F(PodReadiness, RemovesAPodAtOnceWhenThePlatformReportsItNotReady) {
  (void)tell(true, false);
  ASSERT_EQ(probe(), "+a");

  EXPECT_EQ(tell(false, false), "-a");
}

TEST_F(PodReadiness, ProbesAFastReadyPodBeforeItIsRemoved) {
  (void)tell(true, true);
  ASSERT_EQ(probe(), "+a");

  EXPECT_EQ(tell(false, true), "");
  EXPECT_EQ(probe(), "");
}

TEST_F(PodReadiness, ProbesAPodThatBecomesFastReady) {
  (void)tell(false, false);
  EXPECT_EQ(probe(), "");

  (void)tell(false, true);

  EXPECT_EQ(probe(), "+a");
}

}  // namespace
}  // namespace sluice::activator
