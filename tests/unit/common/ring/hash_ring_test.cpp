#include "common/ring/hash_ring.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::ring {
namespace {

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back("10.0.0." + std::to_string(i));
  return result;
}

TEST(HashRing, ChoosesTheWantedNumberOfDistinctNames) {
  for (std::size_t count = 0; count <= 20; ++count) {
    const auto chosen = choose_subset(names(20), count, "default/app-00001");
    EXPECT_EQ(chosen.size(), count);
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    EXPECT_EQ(std::adjacent_find(chosen.begin(), chosen.end()), chosen.end());
  }
  EXPECT_EQ(choose_subset(names(3), 9, "x").size(), 3U);
}

TEST(HashRing, OrderOfTheNamesDoesNotMatter) {
  auto reversed = names(20);
  std::reverse(reversed.begin(), reversed.end());

  EXPECT_EQ(choose_subset(names(20), 5, "x"), choose_subset(reversed, 5, "x"));
}

TEST(HashRing, EveryBucketOwnsSomething) {
  const std::vector<std::string> buckets{"b-0", "b-1", "b-2"};
  std::vector<int> owned(3, 0);

  for (int i = 0; i < 300; ++i) {
    const std::string owner = bucket_owner(buckets, "default/app-" + std::to_string(i));
    ++owned[static_cast<std::size_t>(owner.back() - '0')];
  }

  EXPECT_GT(*std::min_element(owned.begin(), owned.end()), 50);
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
}  // namespace sluice::ring
