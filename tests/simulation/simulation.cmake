# The whole loop on virtual time: all cores joined in one thread, seeded.
sluice_test(simulation_test LABEL simulation
  SOURCES simulation/clock_jump_test.cpp simulation/fleet.cpp simulation/loop.cpp
          simulation/loop_test.cpp simulation/properties.cpp simulation/properties_test.cpp
          simulation/shapes.cpp simulation/shapes_test.cpp
  DEPS sluice::activator_core sluice::autoscaler_core)
# Simulated days are many events: the world around the cores is optimised in every build.
if(TARGET simulation_test)
  target_compile_options(simulation_test PRIVATE $<$<CONFIG:Debug>:-O1>)
endif()

# Several activators and an autoscaler, their links, files and pods: the same, with faults at every step.
sluice_test(activators_simulation_test LABEL simulation
  SOURCES simulation/activators_activator.cpp simulation/activators_activator_link.cpp
          simulation/activators_autoscaler.cpp simulation/activators_ledger.cpp
          simulation/activators_mutants_test.cpp simulation/activators_outcome.cpp
          simulation/activators_platform.cpp simulation/activators_pod.cpp
          simulation/activators_prober.cpp simulation/activators_rules_test.cpp
          simulation/activators_run.cpp simulation/activators_scale_watch.cpp
          simulation/activators_shapes.cpp
          simulation/activators_test.cpp simulation/activators_timeline.cpp
          simulation/activators_wire.cpp
  DEPS sluice::activator_core sluice::autoscaler_core)
if(TARGET activators_simulation_test)
  target_compile_options(activators_simulation_test PRIVATE $<$<CONFIG:Debug>:-O1>)
  # Seconds alone; the machine may be busy with much else.
  set_tests_properties(activators_simulation_test PROPERTIES TIMEOUT 900)
endif()
# The experiment on a simulated kernel: thousands of replays in seconds, with faults. Seconds in the
# release build only.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  sluice_test(node_simulation_test LABEL simulation
    SOURCES simulation/node_agent_twin.cpp simulation/node_kernel.cpp simulation/node_mutants_test.cpp
            simulation/node_run.cpp simulation/node_simulation_test.cpp
    DEPS    sluice::autoscaler_core sluice::node_agent_core sluice::paper_policy)
  set_tests_properties(node_simulation_test PROPERTIES TIMEOUT 900)
endif()
