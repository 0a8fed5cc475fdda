#include "memory-pressure/io/own_weight.h"

#include "tests/unit/memory-pressure/io/fixture_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <unistd.h>

namespace sluice::node_agent {
namespace {

using testing::FixtureTree;
using testing::Hierarchy;

class OwnWeight : public ::testing::TestWithParam<Hierarchy> {
 protected:
  void put_into(const std::string& group, const std::string& others) {
    tree.put("/proc/self/cgroup", "4:cpu,cpuacct:" + group + "\n0::" + group + "\n");
    tree.put(tree.cpu_directory(group) + "/cgroup.procs",
             std::to_string(::getpid()) + "\n" + others);
    weight =
        tree.cpu_directory(group) + (GetParam() == Hierarchy::v2 ? "/cpu.weight" : "/cpu.shares");
    tree.put(weight, "usual");
  }

  FixtureTree tree{GetParam()};
  std::string weight;
};

INSTANTIATE_TEST_SUITE_P(Hierarchies, OwnWeight, ::testing::Values(Hierarchy::v1, Hierarchy::v2));

TEST_P(OwnWeight, AGroupOfOurOwnIsRaised) {
  put_into("/system.slice/node-agent.service", "");

  EXPECT_TRUE(raise_own_weight(tree.root()));

  EXPECT_EQ(tree.get(weight), GetParam() == Hierarchy::v2 ? "1000" : "10240");
}

TEST_P(OwnWeight, AGroupThatOthersShareIsNot) {
  put_into("/user.slice/session", "1\n");

  EXPECT_FALSE(raise_own_weight(tree.root()));

  EXPECT_EQ(tree.get(weight), "usual");
}

TEST_P(OwnWeight, TheTopGroupIsNot) {
  put_into("/", "");

  EXPECT_FALSE(raise_own_weight(tree.root()));
}

}  // namespace
}  // namespace sluice::node_agent
