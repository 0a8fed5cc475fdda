// Goal: what happened to a recorded service happens to the simulated one, in the order of time,
// with limits of room from before the decision that shows them.

#include "programs/sluice/commands/recorded_happenings.h"

#include "autoscaler/io/recording_json.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <variant>
#include <vector>

namespace sluice::commands {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kBegin{seconds{1'700'000'000}};

TimePoint at(int second) {
  return kBegin + seconds{second};
}

struct Shown {
  std::string operator()(const simulation::NewScaling& given) const {
    return "window " + std::to_string(given.scaling.decider.stable_window / seconds{1});
  }

  std::string operator()(const autoscaler::BoundsInput& bounds) const {
    return "min " + std::to_string(bounds.min.value_or(-1));
  }

  std::string operator()(const simulation::OrderToWake& /*order*/) const { return "wake"; }

  std::string operator()(const simulation::OrderToSleep& /*order*/) const { return "sleep"; }

  std::string operator()(const simulation::LostReplica& /*lost*/) const { return "lost"; }

  std::string operator()(const simulation::Room& room) const {
    return room.replicas ? "room " + std::to_string(*room.replicas) : "room";
  }

  std::string operator()(const simulation::Standstill& stands) const {
    return "stands " + std::to_string(stands.length / milliseconds{1});
  }
};

class RecordedHappeningsTest : public testing::Test {
 protected:
  void add(const autoscaler::RecordedInput& input) {
    lines_.push_back(autoscaler::recorded_json(input, {{"default", "app-00001"}, "app"}).dump());
  }

  void tick(TimePoint when) {
    autoscaler::EvalInput eval;
    eval.decided.time = when;
    add(eval);
  }

  /// `ms what` of each.
  std::string read(const std::vector<std::string>& sets = {}) {
    const auto path = directory_.path() / "app.jsonl";
    std::ofstream out{path};
    out << "{}\n";
    for (const std::string& line : lines_) out << line << "\n";
    out.close();
    auto happenings = RecordedHappenings::open(path.string(), RecordedService{}, kBegin,
                                               *ScalingEdits::parse(sets));
    EXPECT_TRUE(happenings);
    std::string all;
    while (const auto next = happenings->next()) {
      all +=
          std::to_string(next->at / milliseconds{1}) + " " + std::visit(Shown{}, next->what) + "; ";
    }
    return all;
  }

 private:
  local::TemporaryDirectory directory_;
  std::vector<std::string> lines_;
};

TEST_F(RecordedHappeningsTest, ComeInTheOrderOfTime) {
  add(autoscaler::WakeInput{.at = at(1)});
  add(autoscaler::BoundsInput{.min = 3, .max = {}});
  add(autoscaler::TrafficNote{.at = at(2)});
  add(autoscaler::ReplicaNote{.at = at(3), .event = autoscaler::ReplicaEvent::lost});
  add(autoscaler::ReplicaNote{.at = at(4), .event = autoscaler::ReplicaEvent::gone});
  add(autoscaler::SleepInput{.at = at(5)});

  EXPECT_EQ(read(), "1000 wake; 2000 min 3; 3000 lost; 5000 sleep; ");
}

TEST_F(RecordedHappeningsTest, RoomIsLimitedBeforeTheDecisionThatShowsIt) {
  tick(at(2));
  tick(at(4));
  add(autoscaler::GrantedNote{.at = at(4), .granted = 2, .shortage = "no memory"});
  add(autoscaler::GrantedNote{.at = at(6), .granted = 5, .shortage = {}});
  add(autoscaler::GrantedNote{.at = at(8), .granted = 4, .shortage = {}});

  EXPECT_EQ(read(), "1998 stands 2; 3000 room 2; 3998 stands 2; 6000 room; ");
}

TEST_F(RecordedHappeningsTest, AStopOfTheEngineBeganAfterTheLineBefore) {
  add(autoscaler::TrafficNote{.at = at(8)});
  add(autoscaler::ClockStepInput{.at = at(22), .by = seconds{10}});
  add(autoscaler::ClockStepInput{.at = at(23), .by = Duration{0}});

  EXPECT_EQ(read(), "8000 stands 14000; ");
}

TEST_F(RecordedHappeningsTest, AStopIsKnownByTheSecondThatEndsWithIt) {
  add(autoscaler::TrafficNote{.at = at(8)});
  add(autoscaler::TrafficNote{.at = at(22)});
  add(autoscaler::ClockStepInput{.at = at(22), .by = seconds{10}});

  EXPECT_EQ(read(), "8000 stands 14000; ");
}

TEST_F(RecordedHappeningsTest, SettingsThatChangedHaveTheOtherOnesToo) {
  autoscaler::SpecInput spec{.at = at(3), .scaling = {}};
  spec.scaling.decider.stable_window = seconds{20};
  auto given = std::make_shared<autoscaler::GivenScaling>();
  given->annotations["autoscaling.knative.dev/window"] = "20s";
  spec.given = given;
  add(spec);

  EXPECT_EQ(read(), "3000 window 20; ");
  EXPECT_EQ(read({"window=30s"}), "3000 window 30; ");
}

}  // namespace
}  // namespace sluice::commands
