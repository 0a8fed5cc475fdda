#include "autoscaler/placement/core/policy_view.h"

#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace sluice::placement {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// fast is full of shop and pay, of which each may go to slow.
class PolicyViews : public ::testing::Test {
 protected:
  PolicyViews() {
    scene_.place("fast", {.preference = 0, .capacity = {.cpu = 2000, .memory = 0, .slots = 2}});
    scene_.place("slow", {.preference = 1});
    for (const char* const name : {"shop", "pay"}) {
      scene_.service(name);
      scene_.run(name, "fast");
      scene_.facts(name).started = scene_.now - minutes{10};
    }
  }

  // Lines such as "shop after pay by in-flight 3000000", and "pay stays: may not be moved".
  std::string ranked(const MigrationPolicy& policy,
                     std::optional<Duration> age = Duration{seconds{60}}) {
    scene_.parameters().begin_cycle();
    const PlaceRanking ranking = rank_place(scene_.ledger(), scene_, scene_.parameters(), policy,
                                            scene_.place_id("fast"), age, scene_.now);
    std::string text;
    for (const RankedService& each : ranking.moved) {
      text += scene_.find(each.service)->name + " " + each.why;
      if (each.score) text += " score " + std::to_string(*each.score);
      for (const auto& value : each.values) text += " " + (value ? std::to_string(*value) : "-");
      text += "\n";
    }
    for (const StayingService& each : ranking.stay) {
      text += scene_.find(each.service)->name + " stays: " + each.why + "\n";
    }
    return text;
  }

  Scene scene_;
};

TEST_F(PolicyViews, RankByTheirAlgorithmsAndNameTheOneThatDecides) {
  scene_.measures("shop").in_flight = 3;

  EXPECT_EQ(ranked(default_policy()),
            "pay first 0\n"
            "shop after pay by in-flight 3000000\n");
  EXPECT_EQ(ranked({.name = "p",
                    .algorithms = {{.name = "in-flight", .direction = Direction::high_first}}}),
            "shop first 3000000\n"
            "pay after shop by in-flight 0\n");
  EXPECT_EQ(ranked({.name = "p", .algorithms = {{.name = "in-flight", .quantum = kRateMax}}}),
            "shop first 3000000\n"
            "pay equal to shop 0\n");
  scene_.facts("pay").move_priority = 1;
  EXPECT_EQ(ranked(default_policy()),
            "shop first 3000000\n"
            "pay after shop by move-priority 0\n");
}

TEST_F(PolicyViews, RankWhatIsNotKnownLast) {
  scene_.measures("shop").in_flight.reset();

  EXPECT_EQ(ranked(default_policy()),
            "pay first 0\n"
            "shop after pay by in-flight -\n");
}

TEST_F(PolicyViews, RankByScores) {
  scene_.measures("shop").in_flight = 3;
  scene_.measures("pay").request_rate = 500;

  EXPECT_EQ(ranked({.name = "p",
                    .mode = MigrationPolicy::Mode::scoring,
                    .algorithms = {{.name = "in-flight"}, {.name = "request-rate", .weight = 3}}}),
            "shop first score 3000000 3000000 0\n"
            "pay after shop by score score 1000000 0 500000\n");
}

TEST_F(PolicyViews, NameWhatStaysAndWhy) {
  scene_.facts("shop").movable = false;
  scene_.facts("pay").started = scene_.now - seconds{12};

  EXPECT_EQ(ranked(default_policy()),
            "shop stays: may not be moved\n"
            "pay stays: was started 12 s ago (may move from 60 s on)\n");
  EXPECT_EQ(ranked(default_policy(), std::nullopt),
            "pay first 0\n"
            "shop stays: may not be moved\n");
}

}  // namespace
}  // namespace sluice::placement
