#include "autoscaler/core/hash_ring.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::autoscaler {
namespace {

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back("10.0.0." + std::to_string(i));
  return result;
}

TEST(HashRing, RepeatedNamesCountOnce) {
  std::vector<std::string> twice = names(20);
  const std::vector<std::string> again = names(20);
  twice.insert(twice.end(), again.begin(), again.end());

  EXPECT_EQ(choose_subset(twice, 7, "x"), choose_subset(names(20), 7, "x"));
  EXPECT_EQ(choose_subset(twice, 30, "x").size(), 20U);
}

TEST(HashRing, HoldsAsManyNamesAsItHasPlaces) {
  EXPECT_EQ(choose_subset(names(kNamesMax), kNamesMax - 1, "x").size(), kNamesMax - 1);
}

TEST(HashRing, AllOfThemNeedNoRing) {
  EXPECT_EQ(choose_subset(names(3000), 3000, "x").size(), 3000U);
}

TEST(HashRing, OneNameLessMovesFewChoices) {
  int moved = 0;
  std::vector<std::string> fewer = names(20);
  fewer.pop_back();
  for (int i = 0; i < 400; ++i) {
    const std::string key = "default/app-" + std::to_string(i);
    if (bucket_owner(names(20), key) != bucket_owner(fewer, key)) ++moved;
  }

  EXPECT_LT(moved, 60) << "its own twentieth and a few collisions";
}

}  // namespace
}  // namespace sluice::autoscaler
