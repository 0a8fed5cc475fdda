#include "memory-pressure/io/freezer.h"

#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <gtest/gtest.h>

namespace sluice::node_agent {
namespace {

using testing::FixtureTree;
using testing::Hierarchy;

constexpr const char* kGroup = "/kubepods/pod1/c1";

class FreezerOf : public ::testing::TestWithParam<Hierarchy> {
 protected:
  FreezerOf() { tree.put(tree.freezer_file(kGroup), ""); }

  [[nodiscard]] bool v2() const { return GetParam() == Hierarchy::v2; }

  FixtureTree tree{GetParam()};
  Freezer freezer{find_cgroup_mounts(tree.root()).freezer};
};

INSTANTIATE_TEST_SUITE_P(Hierarchies, FreezerOf,
                         ::testing::Values(Hierarchy::v1, Hierarchy::v2, Hierarchy::hybrid));

TEST_P(FreezerOf, AGroupIsFrozenAndThawedByItsFile) {
  EXPECT_EQ(freezer.set(kGroup, true), Outcome::ok);
  EXPECT_EQ(tree.get(tree.freezer_file(kGroup)), v2() ? "1" : "FROZEN");

  tree.put(tree.freezer_file(kGroup), "");
  EXPECT_EQ(freezer.set(kGroup, false), Outcome::ok);
  EXPECT_EQ(tree.get(tree.freezer_file(kGroup)), v2() ? "0" : "THAWED");
}

TEST_P(FreezerOf, AGroupThatIsGoneIsNotFound) {
  tree.remove(tree.freezer_file(kGroup));

  EXPECT_EQ(freezer.set(kGroup, false), Outcome::not_found);
  EXPECT_FALSE(freezer.frozen(kGroup).has_value());
}

TEST_P(FreezerOf, TheTopGroupIsNeverFrozen) {
  tree.put(tree.freezer_file(""), "");

  EXPECT_EQ(freezer.set("/", true), Outcome::refused);
  EXPECT_EQ(tree.get(tree.freezer_file("")), "");
}

TEST_P(FreezerOf, TheStateOfAGroupIsReadBack) {
  tree.set_frozen(kGroup, true);
  EXPECT_EQ(freezer.frozen(kGroup), true);

  tree.set_frozen(kGroup, false);
  EXPECT_EQ(freezer.frozen(kGroup), false);
}

}  // namespace
}  // namespace sluice::node_agent
