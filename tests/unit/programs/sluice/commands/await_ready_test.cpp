#include "programs/sluice/commands/await_ready.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sluice::commands {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

json status(int ready, int desired, const std::string& state) {
  return {{"name", "app"},
          {"revision", "app-00001"},
          {"ready", ready},
          {"state", state},
          {"desired", desired},
          {"why", "load"},
          {"not_ready", json::array()}};
}

json amiss(json of, const std::string& revision, const std::string& state,
           const std::string& cause) {
  of["not_ready"].push_back(
      {{"revision", revision}, {"state", state}, {"cause", cause}, {"why", "it ended"}});
  return of;
}

TEST(AwaitReady, AServiceThatShouldNotRunIsAsleep) {
  json kept = status(0, 0, "asleep");
  EXPECT_EQ(readiness_of(kept, 1s), Readiness::asleep);
  kept["min"] = 1;
  EXPECT_EQ(readiness_of(kept, 1s), Readiness::waiting) << "its minimum is not ordered yet";
}

TEST(AwaitReady, OneReadyReplicaOfTheServingRevisionIsEnough) {
  EXPECT_EQ(readiness_of(status(1, 3, "awake"), 0s), Readiness::ready);
  const json other_replica = amiss(status(1, 3, "awake"), "app-00001", "failing", "exited");
  EXPECT_EQ(readiness_of(other_replica, 0s), Readiness::ready);
}

TEST(AwaitReady, AStartIsWaitedForUntilTheServiceFails) {
  EXPECT_EQ(readiness_of(status(0, 1, "starting"), 50s), Readiness::waiting);
  const json once = amiss(status(0, 1, "starting"), "app-00001", "failing", "exited");
  EXPECT_EQ(readiness_of(once, 1s), Readiness::waiting);
  const json thrice = amiss(status(0, 1, "failing"), "app-00001", "failing", "exited");
  EXPECT_EQ(readiness_of(thrice, 1s), Readiness::failed);
}

TEST(AwaitReady, AnotherPortIsWaitedForTenSeconds) {
  const json elsewhere = amiss(status(0, 1, "starting"), "app-00001", "starting", "other_port");
  EXPECT_EQ(readiness_of(elsewhere, 9s), Readiness::waiting);
  EXPECT_EQ(readiness_of(elsewhere, 10s), Readiness::failed);
}

TEST(AwaitReady, WhatNoRoomWillEverDoForIsNotWaitedFor) {
  EXPECT_EQ(readiness_of(amiss(status(0, 1, "starting"), "app-00001", "starting", "no_room"), 50s),
            Readiness::waiting);
  EXPECT_EQ(readiness_of(amiss(status(0, 1, "starting"), "app-00001", "starting", "too_large"), 0s),
            Readiness::failed);
}

TEST(AwaitReady, TheNewestRevisionCountsThoughAnOlderOneServes) {
  EXPECT_EQ(readiness_of(amiss(status(1, 1, "awake"), "app-00002", "starting", "starting"), 1s),
            Readiness::waiting);
  EXPECT_EQ(readiness_of(amiss(status(1, 1, "awake"), "app-00002", "given_up", "exited"), 1s),
            Readiness::failed);
  const json both = amiss(amiss(status(0, 1, "failing"), "app-00002", "starting", "starting"),
                          "app-00001", "failing", "exited");
  EXPECT_EQ(readiness_of(both, 1s), Readiness::waiting) << "that the one before it fails is old";
}

TEST(AwaitReady, TheTextNamesTheCauseAndWhereTheOutputIs) {
  EXPECT_EQ(not_ready_text(amiss(status(0, 1, "failing"), "app-00001", "failing", "exited")),
            "service app is not ready: it ended; see: sluice logs app");
}

}  // namespace
}  // namespace sluice::commands
