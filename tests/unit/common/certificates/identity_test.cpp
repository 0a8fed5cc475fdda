#include "common/certificates/identity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::certificates {
namespace {

Identity of(const std::vector<std::string>& uris) {
  return identity_of(uris);
}

TEST(Identity, IsReadFromTheUriOfARole) {
  EXPECT_TRUE(of({uri_of(Role::autoscaler)}).has(Role::autoscaler));
  EXPECT_TRUE(of({uri_of(Role::activator)}).has(Role::activator));
  EXPECT_EQ(of({uri_of(Role::node_agent, "n1.example")}).node, "n1.example");
}

TEST(Identity, OfOneRoleIsNotAnother) {
  const Identity agent = of({uri_of(Role::node_agent, "n1")});
  EXPECT_FALSE(agent.has(Role::activator));
  EXPECT_FALSE(agent.has(Role::autoscaler));
  EXPECT_FALSE(of({uri_of(Role::activator)}).has(Role::node_agent));
}

TEST(Identity, OfOtherUrisIsEmpty) {
  const Identity none;
  for (const char* uri :
       {"", "sluice://", "sluice://activator/", "sluice://autoscaler.evil", "spiffe://activator",
        "sluice://node-agent/", "sluice://node-agent/a b", "sluice://node-agent/a/b",
        "sluice://node-agent/a,URI:sluice://activator"}) {
    EXPECT_EQ(of({uri}), none) << uri;
  }
}

TEST(Identity, OfTwoNodesIsOfNeither) {
  EXPECT_EQ(of({uri_of(Role::node_agent, "n1"), uri_of(Role::node_agent, "n2")}).node, "");
}

TEST(Identity, OfSeveralRolesIsAllOfThem) {
  const Identity both = of({uri_of(Role::autoscaler), uri_of(Role::activator)});
  EXPECT_TRUE(both.has(Role::autoscaler) && both.has(Role::activator));
  EXPECT_EQ(both.shown(), "autoscaler, activator");
}

}  // namespace
}  // namespace sluice::certificates
