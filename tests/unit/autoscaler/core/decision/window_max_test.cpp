#include "autoscaler/core/decision/window_max.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

TEST(WindowMax, KeepsTheLargerOfOneSlot) {
  WindowMax window{seconds{10}};

  window.record(at(0), 6);
  window.record(at(1), 5);

  EXPECT_EQ(window.current(), 6);
}

TEST(WindowMax, HasOnlyTheNewestValueAfterALongGap) {
  WindowMax window{seconds{10}};

  window.record(at(0), 6);
  window.record(at(100), 1);

  EXPECT_EQ(window.current(), 1);
}

TEST(WindowMax, HoldsForTheDelayAndNotASlotLonger) {
  WindowMax window{seconds{300}};
  window.record(at(2), 4);

  window.record(at(300), 0);
  EXPECT_EQ(window.current(), 4);

  window.record(at(302), 0);
  EXPECT_EQ(window.current(), 0);
}

TEST(WindowMax, NothingExpiresWithoutRecording) {
  WindowMax window{seconds{10}};

  window.record(at(0), 6);

  EXPECT_EQ(window.current(), 6);
}

TEST(WindowMax, CountsAStepBackForTheNewestSlot) {
  WindowMax window{seconds{10}};
  window.record(at(20), 3);

  window.record(at(4), 7);

  EXPECT_EQ(window.current(), 7);
}

TEST(WindowMax, LongestDurationKeepsTheFirstValue) {
  WindowMax window{Duration::max()};

  window.record(at(0), 6);
  window.record(at(1'000'000'000), 1);

  EXPECT_EQ(window.current(), 6);
}

TEST(WindowMax, EqualsANaiveTwin) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random{seed};
    const auto slots = static_cast<std::int64_t>(random() % 20 + 1);
    WindowMax window{seconds{2 * slots}};
    std::vector<std::pair<std::int64_t, std::int32_t>> history;
    std::int64_t now = 0;
    for (int i = 0; i < 300; ++i) {
      now += static_cast<std::int64_t>(random() % 5);
      const auto value = static_cast<std::int32_t>(random() % 50);
      window.record(at(now), value);
      history.emplace_back((1'700'000'000 + now) / 2, value);
      std::int32_t want = 0;
      for (const auto& [slot, old] : history) {
        if (history.back().first - slot < slots) want = std::max(want, old);
      }
      ASSERT_EQ(window.current(), want) << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace sluice::autoscaler
