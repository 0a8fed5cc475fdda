#include "memory-pressure/core/exit_cause.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

TEST(ExitCause, SurvivorOfAnOomInItsParentIsNotCounted) {
  EXPECT_EQ(exit_cause({.reason = "OOMKilled"}), ExitCause::none);
  EXPECT_EQ(exit_cause({.exited = true, .exit_code = 0, .reason = "OOMKilled"}),
            ExitCause::completed);
}

TEST(ExitCause, KillByTheKernelIsAnOom) {
  EXPECT_EQ(exit_cause({.exited = true, .exit_code = 137, .reason = "OOMKilled"}),
            ExitCause::oom_killed);
}

TEST(ExitCause, OwnSacrificeIsNotAnOom) {
  EXPECT_EQ(
      exit_cause({.exited = true, .exit_code = 137, .reason = "OOMKilled", .stopped_by_us = true}),
      ExitCause::sacrificed);
}

TEST(ExitCause, SacrificeIsRecognizedWithAnyExitCode) {
  for (const int code : {0, 1, 137, 143}) {
    EXPECT_EQ(
        exit_cause({.exited = true, .exit_code = code, .reason = "Error", .stopped_by_us = true}),
        ExitCause::sacrificed);
  }
}

TEST(ExitCause, KillByAnOperatorIsNeither) {
  EXPECT_EQ(exit_cause({.exited = true, .exit_code = 137, .reason = "Error"}), ExitCause::killed);
  EXPECT_EQ(exit_cause({.exited = true, .exit_code = 9, .reason = "Error"}), ExitCause::failed);
}

}  // namespace
}  // namespace sluice::node_agent
