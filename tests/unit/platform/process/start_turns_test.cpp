// Goal: services start a few at a time, and what a request waits for starts at once.
// Method: the stage of process_stage.h, whose pace is three starts at the same time.

#include "tests/unit/platform/process/process_stage.h"

#include "platform/process/process_platform.h"

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

using StartTurnsTest = ProcessStage;

TEST_F(StartTurnsTest, ServicesWithoutRequestsStartAFewAtATime) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    put(spec(name));
    order(std::string{name} + "-00001", 1);
  }
  turn();
  EXPECT_EQ(there(), "a-00001-1 b-00001-1 c-00001-1");
  EXPECT_EQ(platform_.find("d")->not_ready().front().cause.what, "other services start first");
  replica("b-00001-1").becomes_ready();
  turn();
  EXPECT_EQ(there(), "a-00001-1 b-00001-1 c-00001-1 d-00001-1");
  replica("a-00001-1").fails();
  turn();
  EXPECT_EQ(there(), "a-00001-1 b-00001-1 c-00001-1 d-00001-1 e-00001-1");
}

TEST_F(StartTurnsTest, StartsThatLastHoldUpTheOthersForASecond) {
  put(spec());
  order("app-00001", 5);
  EXPECT_EQ(replicas_.size(), 3U);
  time_.run_for(999ms);
  EXPECT_EQ(replicas_.size(), 3U);
  time_.run_for(1ms);
  EXPECT_EQ(replicas_.size(), 5U);
}

TEST_F(StartTurnsTest, ARequestStartsItsServiceBeforeThoseThatWaitForTheirTurn) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    put(spec(name));
    order(std::string{name} + "-00001", 1);
  }
  requests_.held["e-00001"] = 1;
  platform_.revision({"default", "e-00001"})->demand();
  EXPECT_EQ(there(), "a-00001-1 b-00001-1 c-00001-1 e-00001-1");
}

TEST_F(StartTurnsTest, ManyReplicasThatRequestsWaitForStartInSeveralTurns) {
  put(spec());
  requests_.held["app-00001"] = 100;
  order("app-00001", 10);
  EXPECT_EQ(replicas_.size(), 4U);
  turn();
  EXPECT_EQ(replicas_.size(), 10U);
}

TEST_F(StartTurnsTest, AServiceThatIsRemovedWaitsForNoTurn) {
  put(spec());
  order("app-00001", 5);
  platform_.remove("app");
  time_.run_for(2s);
  EXPECT_EQ(replicas_.size(), 3U);
  EXPECT_FALSE(means_.pace.waits("app-00001"));
}

}  // namespace
}  // namespace sluice::local
