#include "activator/core/pod_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace sluice::activator {
namespace {

// A line whose order is that of the slots' numbers, beside a plain map of marked loads.
class Lines {
 public:
  explicit Lines(std::uint64_t seed) : line_(true), random_(seed) {}

  void step(std::uint32_t slots, std::size_t comings) {
    const auto slot = static_cast<std::uint32_t>(random_() % slots);
    const auto load = static_cast<std::uint32_t>(random_() % 4);
    if (!listed_.contains(slot)) {
      if (random_() % 4 < comings) {
        line_.insert(slot, [&](std::uint32_t other) { return other < slot; });
        listed_.insert(slot);
      }
    } else if (random_() % 4 == 0) {
      line_.erase(slot);
      listed_.erase(slot);
      marked_.erase(slot);
      tell_loads();
    } else if (random_() % 3 == 0) {
      line_.close(slot);
      marked_.erase(slot);
    } else {
      line_.open(slot, load);
      marked_[slot] = load;
    }
  }

  void check() {
    ASSERT_EQ(line_.size(), listed_.size());
    ASSERT_EQ(line_.open_count(), marked_.size());
    ASSERT_EQ(line_.first_open(),
              marked_.empty() ? std::nullopt : std::optional(marked_.begin()->first));
    const std::vector<std::uint32_t> order(listed_.begin(), listed_.end());
    std::set<std::uint32_t> drawn;
    for (std::size_t i = 0; i < line_.open_count(); ++i) {
      drawn.insert(line_.any_open(i));
    }
    ASSERT_EQ(drawn.size(), marked_.size());
    if (order.empty()) {
      return;
    }
    const std::size_t from = random_() % order.size();
    ASSERT_EQ(line_.at(from), order[from]);
    std::optional<std::size_t> next;
    std::optional<std::size_t> least;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t rank = (from + i) % order.size();
      const auto marked = marked_.find(order[rank]);
      EXPECT_TRUE(line_.is_open(order[rank]) == (marked != marked_.end()));
      if (marked != marked_.end()) {
        next = next ? next : rank;
        least = least && marked_[order[*least]] <= marked->second ? least : rank;
      }
    }
    expect(line_.open_from(from), next, order);
    if (line_.is_short()) {
      expect(line_.least_from(from), least, order);
    }
  }

  [[nodiscard]] std::size_t size() const { return listed_.size(); }

 private:
  static void expect(const std::optional<PodLine::Found>& found,
                     const std::optional<std::size_t>& rank,
                     const std::vector<std::uint32_t>& order) {
    ASSERT_EQ(found.has_value(), rank.has_value());
    if (found) {
      ASSERT_EQ(found->rank, *rank);
      ASSERT_EQ(found->slot, order[*rank]);
    }
  }

  void tell_loads() {
    for (const auto& [slot, load] : marked_) {
      line_.set_load(slot, load);
    }
  }

  PodLine line_;
  std::set<std::uint32_t> listed_;
  std::map<std::uint32_t, std::uint32_t> marked_;
  std::mt19937_64 random_;
};

// Goal: whatever comes and goes, the line equals a plain sorted list.
// Method: seeded walks through lines that grow over several blocks and shrink again.
TEST(PodLine, MatchesASortedList) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    Lines lines(seed);
    for (const std::size_t comings : {4U, 1U, 3U, 0U}) {
      for (int i = 0; i < 1500; ++i) {
        lines.step(300, comings);
        if (i % 8 != 0) {
          continue;
        }
        lines.check();
        if (testing::Test::HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

TEST(PodLine, LeastTreatsLoadsBeyondItsLimitAsEqual) {
  PodLine line(false);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    line.insert(slot, [&](std::uint32_t other) { return other < slot; });
    line.open(slot, PodLine::kLoadMax + slot);
  }

  EXPECT_EQ(line.least_from(1)->slot, 1U);
  line.set_load(2, PodLine::kLoadMax - 1);
  EXPECT_EQ(line.least_from(1)->slot, 2U);
}

}  // namespace
}  // namespace sluice::activator
