# The loop on virtual time, seeded: the engine of one revision between a door and pods, request by request, and
# its scaler alone over days and thousands of pods.
if(NOT SLUICE_THREADS_ONLY)
  sluice_test(simulation_test LABEL simulation
    SOURCES simulation/checked_loop.cpp simulation/clock_jump_test.cpp simulation/curve_world.cpp
            simulation/loop_test.cpp simulation/properties.cpp simulation/properties_test.cpp
            simulation/shapes.cpp simulation/shapes_test.cpp
    DEPS sluice::simulation)
  # Simulated days are many events: the world around the cores is optimised in every build.
  target_compile_options(simulation_test PRIVATE $<$<CONFIG:Debug>:-O1>)
endif()

# Faults in the programs themselves: the same worlds with one file changed (plant_fault.py), which the linker
# takes in place of the library's. Of the release build, as only the finding counts.
function(sluice_planted_faults test worlds)
  add_library(${test} OBJECT EXCLUDE_FROM_ALL simulation/${test}.cpp)
  target_link_libraries(${test} PUBLIC sluice::warnings GTest::gtest ${worlds})
  target_compile_options(${test} PRIVATE -O0)
  target_precompile_headers(${test} REUSE_FROM sluice_precompiled_tests)
endfunction()
function(sluice_planted_fault test source)
  foreach(fault IN LISTS ARGN)
    cmake_path(GET source FILENAME file)
    set(planted ${CMAKE_BINARY_DIR}/planted/${fault}/${file})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/planted/${fault})
    add_custom_command(OUTPUT ${planted}
      COMMAND ${SLUICE_PYTHON} -B ${PROJECT_SOURCE_DIR}/tests/simulation/plant_fault.py
              ${fault} ${PROJECT_SOURCE_DIR}/${source} ${planted}
      DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_SOURCE_DIR}/tests/simulation/plant_fault.py VERBATIM)
    add_executable(planted_${fault} ${planted})
    set_target_properties(planted_${fault} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    target_compile_options(planted_${fault} PRIVATE -O0)
    target_precompile_headers(planted_${fault} REUSE_FROM sluice_precompiled_tests)
    target_link_libraries(planted_${fault} PRIVATE GTest::gtest_main ${test})
    add_test(NAME simulation_planted_${fault} COMMAND planted_${fault} --gtest_filter=*/${fault})
    set_tests_properties(simulation_planted_${fault} PROPERTIES LABELS simulation TIMEOUT 300)
  endforeach()
endfunction()

# Several activators and an autoscaler, their links, files and pods: the same, with faults at every step.
# What they run is what the programs run, between simulated pods, files and wires.
if(NOT SLUICE_THREADS_ONLY)
  sluice_simulation(activators_worlds
    SOURCES simulation/activators_activator.cpp simulation/activators_autoscaler.cpp
            simulation/activators_call.cpp simulation/activators_ledger.cpp
            simulation/activators_outcome.cpp simulation/activators_platform.cpp
            simulation/activators_pod.cpp simulation/activators_pods.cpp simulation/activators_run.cpp
            simulation/activators_scale_watch.cpp simulation/activators_seams.cpp
            simulation/activators_shapes.cpp simulation/activators_timeline.cpp
            simulation/activators_wire.cpp
    DEPS sluice::activator_front sluice::autoscaler_engine sluice::manual_loop)
  sluice_test(activators_simulation_test LABEL simulation
    SOURCES simulation/activators_mutants_test.cpp simulation/activators_rules_test.cpp
            simulation/activators_test.cpp
    DEPS sluice::activators_worlds)
  # Seconds alone; the machine may be busy with much else.
  set_tests_properties(activators_simulation_test PROPERTIES TIMEOUT 900)

  sluice_planted_faults(planted_faults_test sluice::activators_worlds)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    sluice_planted_fault(planted_faults_test autoscaler/io/revision.cpp
      RemovesAtOnce KeepsLeaversSecret SleepsUnheard NeverSleeps PublishesLate)
    sluice_planted_fault(planted_faults_test autoscaler/io/scale_loop.cpp TicksOnce)
    sluice_planted_fault(planted_faults_test autoscaler/io/activator_streams.cpp TellsOnce)
    sluice_planted_fault(planted_faults_test autoscaler/core/activators/activator_hub.cpp BelievesApplied)
    sluice_planted_fault(planted_faults_test activator/core/wait_queue.cpp ServesNewestFirst)
    sluice_planted_fault(planted_faults_test activator/io/front_gateway.cpp ForgetsToLeave LosesAnAdmission)
    sluice_planted_fault(planted_faults_test activator/io/pod_prober.cpp LosesPods)
  endif()
endif()
# The experiment on a simulated kernel: thousands of replays in seconds, with faults. Seconds in the
# release build only.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  sluice_simulation(node_worlds
    SOURCES simulation/node_agent.cpp simulation/node_kernel.cpp simulation/node_run.cpp
            simulation/node_runtime.cpp
    DEPS sluice::autoscaler_core sluice::manual_loop sluice::node_agent_io)
  sluice_test(node_simulation_test LABEL simulation
    SOURCES simulation/node_foresight_test.cpp simulation/node_mutants_test.cpp simulation/node_simulation_test.cpp
    DEPS    sluice::node_worlds sluice::paper_policy)
  set_tests_properties(node_simulation_test PROPERTIES TIMEOUT 900)
  sluice_planted_faults(node_planted_faults_test sluice::node_worlds)
  sluice_planted_fault(node_planted_faults_test memory-pressure/io/control_loop.cpp
    SamplesOnce RecoversNothing FindsTheRuntimeOnce)
  sluice_planted_fault(node_planted_faults_test memory-pressure/io/hand.cpp ThrottlesUnwritten)
  sluice_planted_fault(node_planted_faults_test memory-pressure/core/foresight_policy.cpp
    HoldsNobodyAtBirth LetsNobodyGo NeverBrakes)
  sluice_planted_fault(node_planted_faults_test memory-pressure/core/forecast.cpp ExpectsNothingOfStrangers)
  sluice_planted_fault(node_planted_faults_test memory-pressure/core/freezes.cpp ThawsNobody)
endif()
