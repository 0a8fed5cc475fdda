#include "activator/core/pod_subset.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using Places = std::vector<std::string>;

constexpr ActivatorPlace kUnknown{};

// The positions that one activator uses, joined.
std::string used(std::size_t pods, std::int32_t activators, std::int32_t index,
                 std::int32_t concurrency = 1) {
  const PodSubset subset = subset_of(pods, {.activators = activators, .index = index}, concurrency);
  std::string text;
  for (std::size_t position = 0; position < pods; ++position) {
    if (subset.contains(position)) {
      text += (text.empty() ? "" : " ") + std::to_string(position);
    }
  }
  return text;
}

// activator.md 12, row 25.
TEST(PodSubset, WithoutLimitEveryActivatorUsesAllPods) {
  EXPECT_EQ(used(3, 2, 0, 0), "0 1 2");
  EXPECT_EQ(used(3, 2, 1, 0), "0 1 2");
}

// Rows 26 and 27: two pods of ten and one, three of one and two.
TEST(PodSubset, TheRemainderGoesToTheFirstActivators) {
  EXPECT_EQ(used(3, 2, 0, 10), "0 2");
  EXPECT_EQ(used(3, 2, 1, 10), "1");
  EXPECT_EQ(used(5, 2, 0), "0 1 4");
  EXPECT_EQ(used(5, 2, 1), "2 3");
}

// Row 28, and the example of activator.md 5.6.
TEST(PodSubset, SlicesAreNeighboursAndTheRemainderStandsAtTheEnd) {
  EXPECT_EQ(used(6, 4, 0, 42), "0 4");
  EXPECT_EQ(used(6, 4, 1, 42), "1 5");
  EXPECT_EQ(used(6, 4, 2, 42), "2");
  EXPECT_EQ(used(10, 3, 0), "0 1 2 9");
  EXPECT_EQ(used(10, 3, 1), "3 4 5");
  EXPECT_EQ(used(10, 3, 2), "6 7 8");
}

// Row 30.
TEST(PodSubset, MoreActivatorsThanPodsShareOneEach) {
  EXPECT_EQ(used(2, 3, 0), "0");
  EXPECT_EQ(used(2, 3, 1), "1");
  EXPECT_EQ(used(2, 3, 2), "0");
}

// Row 31.
TEST(PodSubset, TheLastActivatorUsesTheLastSlice) {
  EXPECT_EQ(subset_of(150, {.activators = 5, .index = 4}, 1),
            (PodSubset{.first = 120, .count = 30}));
}

TEST(PodSubset, AllPodsWhereThereIsNothingToShare) {
  EXPECT_EQ(used(3, 1, 0), "0 1 2");
  EXPECT_EQ(used(1, 3, 2), "0");
  EXPECT_EQ(used(3, 0, -1), "0 1 2");
  EXPECT_EQ(used(0, 3, 1), "");
}

// Goal: with at least as many pods as activators no pod is left out and none is used twice. Method:
// every number of pods and activators up to thirty.
TEST(PodSubset, TogetherActivatorsUseEachPodOnce) {
  for (std::int32_t activators = 1; activators <= 30; ++activators) {
    for (auto pods = static_cast<std::size_t>(activators); pods <= 30; ++pods) {
      std::map<std::size_t, int> users;
      for (std::int32_t index = 0; index < activators; ++index) {
        const PodSubset subset = subset_of(pods, {.activators = activators, .index = index}, 1);
        std::size_t counted = 0;
        for (std::size_t position = 0; position < pods; ++position) {
          const bool uses = subset.contains(position);
          users[position] += uses ? 1 : 0;
          counted += uses ? 1U : 0U;
        }
        ASSERT_EQ(counted, subset.size());
      }
      for (const auto& [position, times] : users) {
        ASSERT_EQ(times, 1) << position << " of " << pods << " among " << activators;
      }
    }
  }
}

// Row 32.
TEST(ActivatorPlace, StaysAsItWasWhileItDoesNotSeeItself) {
  const ActivatorPlace known{.activators = 2, .index = 1};

  EXPECT_EQ(place_among(Places{"10.0.0.1", "10.0.0.2"}, "10.0.0.9", known), known);
  EXPECT_EQ(place_among(Places{}, "10.0.0.9", kUnknown), kUnknown);
}

// Row 33: as strings, not as numbers.
TEST(ActivatorPlace, IsTheRankAmongAddressesSortedAsStrings) {
  const Places addresses{"10.0.0.9", "10.0.0.10", "10.0.0.2", "10.0.0.10"};

  EXPECT_EQ(place_among(addresses, "10.0.0.9", kUnknown),
            (ActivatorPlace{.activators = 3, .index = 2}));
  EXPECT_EQ(place_among(addresses, "10.0.0.10", kUnknown).index, 0);
}

// Row 34.
TEST(ActivatorPlace, WhoIsLeftAloneUsesAllPods) {
  const ActivatorPlace two = place_among(Places{"a", "b"}, "b", kUnknown);
  const ActivatorPlace one = place_among(Places{"b"}, "b", two);

  EXPECT_EQ(two, (ActivatorPlace{.activators = 2, .index = 1}));
  EXPECT_EQ(one, (ActivatorPlace{.activators = 1, .index = 0}));
  EXPECT_EQ(assigned_of({"p3", "p1", "p2"}, one, 1), (Places{"p1", "p2", "p3"}));
}

TEST(PodSubset, PodsAreTakenInTheOrderOfTheirDestinationsAsStrings) {
  const ActivatorPlace second{.activators = 2, .index = 1};

  EXPECT_EQ(assigned_of({"10.0.0.9:8012", "10.0.0.10:8012", "10.0.0.2:8012"}, second, 1),
            (Places{"10.0.0.2:8012"}));
}

}  // namespace
}  // namespace sluice::activator
