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
#include <vector>

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

TEST_F(RecordedServiceTest, FiguresAreThoseOfTheRun) {
  RecordedWorld world{1, {}, autoscaler::ScalingSpec{}};
  world.load(300, 60);
  const auto note = [&world](int second, autoscaler::ReplicaEvent event, int replicas, int took) {
    world.recording().note(autoscaler::ReplicaNote{.at = autoscaler::at(second),
                                                   .event = event,
                                                   .replicas = replicas,
                                                   .took = std::chrono::seconds{took}});
  };
  note(61, autoscaler::ReplicaEvent::started, 1, 0);
  note(63, autoscaler::ReplicaEvent::ready, 1, 2);
  note(64, autoscaler::ReplicaEvent::started, 2, 0);
  note(71, autoscaler::ReplicaEvent::gone, 0, 0);
  world.recording().note(autoscaler::TrafficNote{.at = autoscaler::at(72),
                                                 .service = {{milliseconds{20}, 4}},
                                                 .service_total = milliseconds{40},
                                                 .waited = {{milliseconds{500}, 1}}});

  const auto service = read_recorded_service(file(world));

  ASSERT_TRUE(service) << service.error().text;
  const RecordedFigures& figures = service->figures;
  const double before =
      to_seconds(autoscaler::at(61) - service->first.at) * service->first.replicas;
  EXPECT_NEAR(figures.replica_seconds, before + 3 * 1 + 7 * 2, 1e-6);
  EXPECT_EQ(figures.most_replicas, 2);
  EXPECT_EQ(figures.cold_starts, 0U);
  EXPECT_EQ(figures.panics, 1U);
  EXPECT_TRUE(figures.waits_known);
  EXPECT_EQ(figures.waits.count(), 4U);
  EXPECT_EQ(figures.waits.percentile(75), Duration{0});
  EXPECT_NEAR(to_seconds(figures.waits.max()), 0.47, 0.01) << "the middle of its bucket";
  EXPECT_EQ(service->first_starts, (std::vector<Duration>{std::chrono::seconds{2}}));
  std::mt19937_64 random;
  EXPECT_EQ(service->service_time->draw(random), milliseconds{10}) << "as all of them together";
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
