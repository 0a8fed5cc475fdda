#include "programs/sluice/engine/callers.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

TEST(Callers, AreNamedBusiestFirst) {
  Callers callers;
  callers.record("10.0.0.1", "GET", "/a", kStart);
  for (int i = 0; i < 3; ++i) callers.record("10.0.0.2", "GET", "/b", kStart + 1s);

  const auto seen = callers.last_minute(kStart + 2s);

  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].client + " " + seen[0].request, "10.0.0.2 GET /b");
  EXPECT_EQ(seen[0].count, 3);
  EXPECT_EQ(seen[1].count, 1);
}

TEST(Callers, AreDroppedWithTheMinute) {
  Callers callers;
  callers.record("10.0.0.1", "GET", "/a", kStart);

  EXPECT_EQ(callers.last_minute(kStart + 59s).size(), 1U);
  EXPECT_EQ(callers.last_minute(kStart + 71s).size(), 0U);
}

TEST(Callers, StayBoundedAndKeepTheBusy) {
  Callers callers;
  for (int i = 0; i < 10; ++i) callers.record("busy", "GET", "/", kStart);

  for (int i = 0; i < 1000; ++i) callers.record("c" + std::to_string(i), "GET", "/", kStart);

  const auto seen = callers.last_minute(kStart);
  EXPECT_EQ(seen.size(), Callers::kEntriesMax);
  EXPECT_EQ(seen[0].client, "busy");
}

TEST(Callers, ShortenLongPaths) {
  Callers callers;
  callers.record("c", "GET", "/" + std::string(5000, 'x'), kStart);

  EXPECT_LE(callers.last_minute(kStart)[0].request.size(), 210U);
}

}  // namespace
}  // namespace sluice::local
