#include "load/core/generator_watch.h"

#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;
using Kind = Mark::Kind;

// A thread and its machine in virtual time.
class Machine {
 public:
  // The timer comes `late`, of which the thread worked `busy`; the clock is set by `step`.
  void tick(Duration late = 0ms, Duration busy = 0ms, Duration step = 0ms) {
    now_ += GeneratorWatch::kInterval + late;
    cpu_ += busy;
    step_ += step;
    watch_.tick({.at = now_, .cpu = cpu_, .wall = now_ + step_});
  }

  [[nodiscard]] const GeneratorWatch& watch() const { return watch_; }

 private:
  GeneratorWatch watch_;
  Duration now_{0};
  Duration cpu_{0};
  Duration step_{0};
};

TEST(GeneratorWatch, MarksTheTimeInWhichItsThreadDidNotRun) {
  Machine machine;
  machine.tick();
  machine.tick(63ms);
  machine.tick(30ms);

  ASSERT_EQ(machine.watch().marks().size(), 1U) << "30 ms is no gap";
  EXPECT_EQ(machine.watch().marks()[0], (Mark{20ms, Kind::generator_gap, 63ms}));
}

TEST(GeneratorWatch, MarksNoGapWhereTheThreadWorked) {
  Machine machine;
  machine.tick();
  machine.tick(400ms, 390ms);

  EXPECT_TRUE(machine.watch().marks().empty());
}

TEST(GeneratorWatch, MarksAClockThatWasSet) {
  Machine machine;
  for (int i = 0; i < 3; ++i) machine.tick();
  machine.tick(0ms, 0ms, -2s);
  machine.tick(0ms, 0ms, 10ms);

  ASSERT_EQ(machine.watch().marks().size(), 1U) << "slewing is no step";
  EXPECT_EQ(machine.watch().marks()[0], (Mark{80ms, Kind::clock_step, -2s}));
  EXPECT_EQ(name_of(machine.watch().marks()[0].kind), "clock_step");
}

TEST(GeneratorWatch, FindsTheSecondInWhichItsCoreWasUsedMost) {
  Machine machine;
  for (int i = 0; i < 100; ++i) machine.tick(0ms, 2ms);
  for (int i = 0; i < 60; ++i) machine.tick(0ms, 19ms);
  for (int i = 0; i < 100; ++i) machine.tick(0ms, 2ms);

  EXPECT_NEAR(machine.watch().busiest(), 0.95, 0.01);
}

TEST(GeneratorWatch, JoinsThreadsInTheOrderOfTime) {
  Machine one;
  Machine other;
  one.tick();
  one.tick(100ms);
  other.tick(200ms);
  other.tick(80ms);
  GeneratorWatch both = other.watch();

  both.add(one.watch());

  ASSERT_EQ(both.marks().size(), 2U);
  EXPECT_EQ(both.marks()[0].at, 20ms);
  EXPECT_EQ(both.marks()[1].at, 220ms);
}

TEST(GeneratorWatch, KeepsALimitedNumberOfMarks) {
  Machine machine;
  for (std::size_t i = 0; i < 2 * GeneratorWatch::kMarksMax; ++i) machine.tick(90ms);

  EXPECT_EQ(machine.watch().marks().size(), GeneratorWatch::kMarksMax);
}

}  // namespace
}  // namespace sluice::loadgen
