// Goal: a simulation of a recorded service has its settings and its times.

#include "programs/sluice/commands/recorded_service.h"

#include "autoscaler/io/recording_json.h"
#include "common/base/version.h"
#include "tests/unit/autoscaler/core/recording/recorded_world.h"
#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>

namespace sluice::commands {
namespace {

using autoscaler::RecordedWorld;
using std::chrono::milliseconds;

class RecordedServiceTest : public testing::Test {
 protected:
  std::string file(RecordedWorld& world) {
    autoscaler::RecordingText text{
        world.recording().stretches(), {autoscaler::kApp, "app"}, std::string{kVersion}, {}};
    const auto path = directory_.path() / "app.jsonl";
    std::ofstream out{path};
    for (std::string line; text.next(line); line.clear()) out << line;
    return path.string();
  }

  [[nodiscard]] std::string path(const char* name) const { return directory_.path() / name; }

 private:
  local::TemporaryDirectory directory_;
};

TEST_F(RecordedServiceTest, TimesAreThoseOfItsRequestsAndColdStarts) {
  RecordedWorld world{1, {}, autoscaler::ScalingSpec{}};
  world.load(300, 60);
  world.recording().note(
      autoscaler::TrafficNote{.at = autoscaler::at(60), .service = {{milliseconds{20}, 3}}});
  world.recording().note(autoscaler::ColdStartNote{.at = autoscaler::at(60),
                                                   .took = {.revision = {},
                                                            .queue = milliseconds{1},
                                                            .create = milliseconds{5},
                                                            .start = milliseconds{20},
                                                            .ready = milliseconds{400},
                                                            .first_byte = milliseconds{30}}});

  const auto service = read_recorded_service(file(world));

  ASSERT_TRUE(service) << service.error().text;
  ASSERT_TRUE(service->service_time && service->start);
  std::mt19937_64 random;
  EXPECT_EQ(service->service_time->draw(random), milliseconds{20});
  EXPECT_EQ(service->start->draw(random), milliseconds{425});
}

TEST_F(RecordedServiceTest, WhatWasNotRecordedIsAbsent) {
  RecordedWorld world{1, {}, autoscaler::ScalingSpec{}};
  world.load(300, 60);

  const auto service = read_recorded_service(file(world));

  ASSERT_TRUE(service) << service.error().text;
  EXPECT_FALSE(service->service_time);
  EXPECT_FALSE(service->start);
}

TEST_F(RecordedServiceTest, FileThatIsNoRecordingIsRefusedWithItsLine) {
  std::ofstream{path("other")} << "{}\n";

  const auto service = read_recorded_service(path("other"));

  ASSERT_FALSE(service);
  EXPECT_EQ(service.error().exit_code, kExitConfig);
  EXPECT_NE(service.error().text.find("other, line 1: "), std::string::npos);
  EXPECT_FALSE(read_recorded_service(path("none")));
}

}  // namespace
}  // namespace sluice::commands
