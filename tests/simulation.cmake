# The whole loop on virtual time: all cores joined in one thread, seeded.
sluice_test(simulation_test LABEL simulation
  SOURCES simulation/loop.cpp simulation/loop_test.cpp
  DEPS sluice::activator_core sluice::autoscaler_core sluice::load)
