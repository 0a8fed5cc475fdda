#include "common/scaling/placement_annotations.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace sluice::autoscaler {
namespace {

model::PlacementWish wish(const std::string& name, const std::string& value) {
  const ReadWish read = read_placement({{"placement.sluice.dev/" + name, value}});
  EXPECT_TRUE(read.problems.empty()) << read.problems.front().problem.text();
  return read.wish;
}

std::string problem(const std::string& name, const std::string& value) {
  const ReadWish read = read_placement({{"placement.sluice.dev/" + name, value}});
  return read.problems.empty() ? "" : read.problems.front().problem.text();
}

// E02
TEST(PlacementAnnotations, WithoutThemNothingIsAskedFor) {
  const ReadWish read =
      read_placement({{"sluice.dev/port", "1"}, {"placement.example.com/x", "y"}});

  EXPECT_EQ(read.wish, model::PlacementWish{});
  EXPECT_FALSE(read.wish.movable);
  EXPECT_TRUE(read.problems.empty());
}

TEST(PlacementAnnotations, ClustersAreNamedInTheOrderOfLiking) {
  EXPECT_EQ(wish("clusters", "fast, slow").clusters, (std::vector<std::string>{"fast", "slow"}));
  EXPECT_FALSE(wish("clusters", "fast").any);
  EXPECT_TRUE(wish("clusters", "fast,any").any);
  EXPECT_TRUE(wish("clusters", "any").clusters.empty());
  EXPECT_NE(problem("clusters", "fast,,slow"), "");
  EXPECT_NE(problem("clusters", ""), "");
  EXPECT_NE(problem("clusters", "Fast"), "");
  EXPECT_EQ(problem("clusters", "a,a"),
            "`placement.sluice.dev/clusters` is `a,a`, which names a twice; name it once");
}

TEST(PlacementAnnotations, ALabelExpressionIsRead) {
  EXPECT_EQ(model::selector_text(wish("where", "gpu=yes,!old").where), "gpu=yes,!old");
  EXPECT_EQ(problem("where", "gpu=yes,zone within (a)"),
            "`placement.sluice.dev/where`: `zone within (a)` is not a condition on labels; write "
            "key=value, key!=value, key in (a,b), key notin (a,b), key or !key");
}

TEST(PlacementAnnotations, AServiceMayBeFixed) {
  EXPECT_EQ(wish("pin", "fast").pin, "fast");
  EXPECT_EQ(wish("movable", "false").movable, false);
  EXPECT_EQ(problem("movable", "no"),
            "`placement.sluice.dev/movable` is `no`; write true or false");
  EXPECT_NE(problem("pin", "a,b"), "");
}

// E03
TEST(PlacementAnnotations, MovePriorityMayBeNegativeAndIsClamped) {
  using Limits = std::numeric_limits<std::int32_t>;
  EXPECT_EQ(wish("move-priority", "-7").move_priority, -7);
  EXPECT_EQ(wish("move-priority", "99999999999999999999").move_priority, Limits::max());
  EXPECT_EQ(wish("move-priority", "-99999999999999999999").move_priority, Limits::min());
  EXPECT_EQ(problem("move-priority", "high"),
            "`placement.sluice.dev/move-priority` is `high`, which is no whole number; write a "
            "number like -10 or 100");
  EXPECT_NE(problem("move-priority", "-"), "");
}

TEST(PlacementAnnotations, ReplicasOfANodeMayBeLimited) {
  EXPECT_EQ(wish("max-per-node", "2").max_per_node, 2);
  EXPECT_NE(problem("max-per-node", "-1"), "");
  EXPECT_EQ(wish("application", "web").application, "web");
  EXPECT_NE(problem("application", ""), "");
}

// E73
TEST(PlacementAnnotations, AMisspeltKeyIsAnErrorWithASuggestion) {
  EXPECT_EQ(problem("moveable", "true"),
            "unknown annotation `placement.sluice.dev/moveable`; did you mean "
            "`placement.sluice.dev/movable`?");
  const ReadWish read = read_placement({{"placement.sluice.dev/pinn", "fast"}});
  EXPECT_EQ(read.problems.front().keys, std::vector<std::string>{"placement.sluice.dev/pinn"});
  EXPECT_EQ(read.wish.pin, "");
}

}  // namespace
}  // namespace sluice::autoscaler
