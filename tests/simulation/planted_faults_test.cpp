// Goal: a fault in the autoscaler's engine or in the activator breaks a rule that
// activators_test.cpp checks, and the simulation reports it. Method: each program that this stands
// in has one file of theirs with one fault planted (plant_fault.py), and plays the test of that
// name alone.
#include "tests/simulation/activators_breaches.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::simulation {
namespace {

std::vector<Breach> faults() {
  using S = ActivatorsShape;
  return {
      {"RemovesAtOnce", S::naps, "may be stopped while"},
      {"KeepsLeaversSecret", S::naps, "may be stopped while"},
      {"SleepsUnheard", S::naps, "is scaled to zero while no activator is connected",
       break_streams},
      {"NeverSleeps", S::calm, "pods left when all should be at rest"},
      {"PublishesLate", S::naps, "sleeps on while a request waits"},
      {"TicksOnce", S::calm, "pods left when all should be at rest"},
      {"TellsOnce", S::calm, "unconnected activators left"},
      {"BelievesApplied", S::links, "may be stopped while"},
      {"ServesNewestFirst", S::naps, "overtakes one who waits", one_at_a_time},
      {"ForgetsToLeave", S::naps, "waits while a pod has room", one_at_a_time},
      {"LosesAnAdmission", S::calm, "waits while a pod has room"},
      {"LosesPods", S::naps, "has pods that"},
  };
}

class PlantedFaults : public testing::TestWithParam<Breach> {};

INSTANTIATE_TEST_SUITE_P(Programs, PlantedFaults, testing::ValuesIn(faults()),
                         [](const auto& each) { return each.param.name; });

TEST_P(PlantedFaults, AreDetected) {
  expect_noticed(GetParam());
}

}  // namespace
}  // namespace sluice::simulation
