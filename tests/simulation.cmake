# The whole loop on virtual time: all cores joined in one thread, seeded.
sluice_test(simulation_test LABEL simulation
  SOURCES simulation/clock_jump_test.cpp simulation/fleet.cpp simulation/loop.cpp
          simulation/loop_test.cpp simulation/properties.cpp simulation/properties_test.cpp
          simulation/shapes.cpp simulation/shapes_test.cpp
  DEPS sluice::activator_core sluice::autoscaler_core sluice::load)
# Simulated days are many events: the world around the cores is optimised in every build.
target_compile_options(simulation_test PRIVATE $<$<CONFIG:Debug>:-O1>)
