#include "autoscaler/placement/core/guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace sluice::placement {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kBegin{hours{480'000}};

// A cluster whose operator asks for drains; each that is accepted takes its node out of it.
class Cluster {
 public:
  explicit Cluster(std::int32_t nodes) : health_{.nodes = nodes} { guard_.observe(health_, now_); }

  std::int32_t drain(std::int32_t nodes, std::optional<std::int32_t> percent = {}) {
    const std::int32_t taken = guard_.take(nodes, now_, percent);
    health_.nodes -= taken;
    guard_.observe(health_, now_);
    removed_.push_back({now_, taken});
    return taken;
  }

  void play(Duration length) {
    for (const TimePoint end = now_ + length; now_ < end; now_ += seconds{5}) {
      guard_.observe(health_, now_);
    }
    guard_.observe(health_, now_);
  }

  void show(const Health& health) {
    health_ = health;
    guard_.observe(health_, now_);
  }

  /// Removed within any ten minutes, at most.
  [[nodiscard]] std::int32_t most_in_a_window() const {
    std::int32_t most = 0;
    for (const auto& first : removed_) {
      std::int32_t sum = 0;
      for (const auto& each : removed_) {
        if (each.at >= first.at && each.at < first.at + minutes{10}) sum += each.count;
      }
      most = std::max(most, sum);
    }
    return most;
  }

  [[nodiscard]] std::int32_t nodes() const { return health_.nodes; }

  [[nodiscard]] std::optional<Freeze> frozen() const { return guard_.frozen(); }

  void step_back(Duration by) { now_ -= by; }

 private:
  struct Removed {
    TimePoint at{};
    std::int32_t count = 0;
  };

  Guard guard_{{}};
  Health health_;
  TimePoint now_ = kBegin;
  std::deque<Removed> removed_;
};

TEST(Guard, OfAHundredNodesAQuarterMayGoInTenMinutes) {
  Cluster cluster{100};

  EXPECT_EQ(cluster.drain(51), 25);
  EXPECT_EQ(cluster.drain(26), 0);
  cluster.play(minutes{9});
  EXPECT_EQ(cluster.drain(26), 0);
  cluster.play(minutes{2});
  EXPECT_EQ(cluster.drain(26), 18);  // a quarter of 75
  cluster.play(minutes{11});
  EXPECT_EQ(cluster.drain(8), 8);
  EXPECT_EQ(cluster.nodes(), 49);
}

TEST(Guard, ACommandMayAllowAtMostHalfOfThem) {
  Cluster cluster{100};

  EXPECT_EQ(cluster.drain(51), 25);
  EXPECT_EQ(cluster.drain(26, 90), 25);
  EXPECT_EQ(cluster.drain(1, 100), 0);
  EXPECT_EQ(cluster.most_in_a_window(), 50);
}

TEST(Guard, NoWindowLosesMoreThanItsShareHoweverOftenItIsAsked) {
  Cluster cluster{100};

  for (int i = 0; i < 400; ++i) {
    static_cast<void>(cluster.drain(3));
    cluster.play(seconds{10});
  }

  EXPECT_LE(cluster.most_in_a_window(), 25);
  EXPECT_GE(cluster.nodes(), 1);
}

TEST(Guard, TheOnlyNodeIsNotRemovedByChoice) {
  Cluster cluster{1};

  EXPECT_EQ(cluster.drain(1), 0);
  EXPECT_EQ(cluster.drain(1, 50), 0);
}

TEST(Guard, OfTwoOrThreeNodesOneMayGo) {
  Cluster two{2};
  Cluster three{3};

  EXPECT_EQ(two.drain(2), 1);
  EXPECT_EQ(three.drain(3), 1);
}

TEST(Guard, OneOfTwoNodesThatIsNotSeenFreezesNothingAndProtectsTheOther) {
  Cluster cluster{2};
  cluster.show({.nodes = 2, .bad = 1});

  EXPECT_FALSE(cluster.frozen().has_value());
  EXPECT_EQ(cluster.drain(1), 0);
}

TEST(Guard, ManyBadNodesFreezeRemovals) {
  Cluster cluster{100};
  cluster.show({.nodes = 100, .bad = 45});
  EXPECT_FALSE(cluster.frozen().has_value());

  cluster.show({.nodes = 100, .bad = 46});
  EXPECT_EQ(cluster.frozen(), Freeze::unhealthy);
  EXPECT_EQ(cluster.drain(1, 50), 0);

  cluster.show({.nodes = 100, .bad = 10});
  EXPECT_EQ(cluster.drain(1), 1);
}

TEST(Guard, AFewBadNodesOfASmallClusterFreezeNothing) {
  Cluster cluster{5};
  cluster.show({.nodes = 5, .bad = 3});

  EXPECT_FALSE(cluster.frozen().has_value());
}

TEST(Guard, NodesThatFallSilentTogetherMakeTheObserverSuspect) {
  Cluster cluster{100};
  cluster.play(minutes{1});
  cluster.show({.nodes = 100, .silent = 51});
  EXPECT_EQ(cluster.frozen(), Freeze::observer_suspect);

  cluster.play(minutes{5});
  EXPECT_EQ(cluster.frozen(), Freeze::observer_suspect);
  EXPECT_EQ(cluster.drain(1), 0);

  cluster.show({.nodes = 100, .silent = 50});
  EXPECT_FALSE(cluster.frozen().has_value());
}

TEST(Guard, NodesThatFallSilentOneByOneDoNot) {
  Cluster cluster{100};

  for (std::int32_t silent = 0; silent < 60; ++silent) {
    cluster.show({.nodes = 100, .silent = silent});
    cluster.play(seconds{20});
    EXPECT_FALSE(cluster.frozen().has_value()) << silent;
  }
}

TEST(Guard, WhatCannotBeSeenFreezesRemovals) {
  for (const Health& health :
       {Health{.nodes = 100, .watch_lost = true}, Health{.nodes = 100, .writes_fail = true},
        Health{.nodes = 100, .offers_silent = true}}) {
    Cluster cluster{100};
    cluster.show(health);

    EXPECT_EQ(cluster.frozen(), Freeze::observer_suspect);
    EXPECT_EQ(name(*cluster.frozen()), "observer_suspect");
    EXPECT_EQ(cluster.drain(1), 0);
  }
}

TEST(Guard, AClockThatStepsBackAllowsNothingEarly) {
  Cluster cluster{100};
  EXPECT_EQ(cluster.drain(25), 25);
  cluster.step_back(hours{1});

  cluster.play(minutes{9});
  EXPECT_EQ(cluster.drain(1), 0);
  cluster.play(minutes{2});
  EXPECT_EQ(cluster.drain(1), 1);
}

}  // namespace
}  // namespace sluice::placement
