// Goal: a fault in the loop of the node agent, in its hand or in its rule breaks a promise that
// node_simulation_test.cpp checks. Method: as planted_faults_test.cpp.
#include "tests/simulation/node_run.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace sluice::node_agent {
namespace {

struct Fault {
  friend std::ostream& operator<<(std::ostream& out, const Fault& fault) {
    return out << fault.name;
  }

  std::string name;
  std::string claim;  ///< that a run then breaks
  NodeFaults faults{};
  PolicyKind policy = PolicyKind::headroom;
};

class NodePlantedFaults : public testing::TestWithParam<Fault> {};

INSTANTIATE_TEST_SUITE_P(
    Programs, NodePlantedFaults,
    testing::Values(
        Fault{"SamplesOnce", "no decision was made"},
        Fault{"RecoversNothing", "more than given", {.crash = true}},
        Fault{"FindsTheRuntimeOnce", "no decision was made", {.runtime_down = true, .crash = true}},
        Fault{"ThrottlesUnwritten", "more than given", {.crash = true}},
        Fault{"HoldsNobodyAtBirth", "was killed", {}, PolicyKind::foresight},
        Fault{"LetsNobodyGo", "without a reason", {}, PolicyKind::foresight},
        Fault{"NeverBrakes", "was killed", {}, PolicyKind::foresight},
        Fault{"ExpectsNothingOfStrangers", "was killed", {}, PolicyKind::foresight},
        Fault{"ThawsNobody", "without a reason", {}, PolicyKind::foresight}),
    [](const auto& each) { return each.param.name; });

TEST_P(NodePlantedFaults, AreDetected) {
  EXPECT_TRUE(breaks(GetParam().claim, {}, GetParam().faults, GetParam().policy));
}

}  // namespace
}  // namespace sluice::node_agent
