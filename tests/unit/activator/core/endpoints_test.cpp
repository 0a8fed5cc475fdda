#include "activator/core/endpoints.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::activator {
namespace {

using Pods = std::vector<std::pair<std::string, bool>>;

// Row 60.
TEST(Endpoints, GroupsWithoutThePortAreIgnored) {
  const std::vector<EndpointGroup> groups{
      {.ports = {{"http", 8012}, {"admin", 8022}},
       .addresses = {{"10.0.0.2", false}, {"10.0.0.1", true}, {"fd00::1", true}}},
      {.ports = {{"metrics", 9090}}, .addresses = {{"10.0.0.3", true}}},
      {.ports = {{"http", 8012}}, .addresses = {{"10.0.0.2", true}}}};

  EXPECT_EQ(destinations_of(groups, "http"),
            (Pods{{"10.0.0.1:8012", true}, {"10.0.0.2:8012", true}, {"[fd00::1]:8012", true}}));
  EXPECT_TRUE(destinations_of(groups, "http2").empty());
}

}  // namespace
}  // namespace sluice::activator
