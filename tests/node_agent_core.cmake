# The memory-pressure hook's decisions, and the same on a simulated node.
set(node_agent_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/autoscaler/node-agent/core)
sluice_test(node_agent_core_test
  SOURCES ${node_agent_tests}/evictions_test.cpp
          ${node_agent_tests}/exemptions_test.cpp ${node_agent_tests}/exit_cause_test.cpp
          ${node_agent_tests}/growth_test.cpp ${node_agent_tests}/headroom_policy_test.cpp
          ${node_agent_tests}/headroom_ladder_test.cpp ${node_agent_tests}/journal_record_test.cpp
          ${node_agent_tests}/paper_policy_test.cpp ${node_agent_tests}/quota_test.cpp
          ${node_agent_tests}/reconciler_faults_test.cpp ${node_agent_tests}/reconciler_test.cpp
          ${node_agent_tests}/recovery_test.cpp ${node_agent_tests}/runtime_bench.cpp
          ${node_agent_tests}/scene.cpp ${node_agent_tests}/settings_test.cpp
          ${node_agent_tests}/start_gate_test.cpp ${node_agent_tests}/threshold_test.cpp
  DEPS    sluice::node_agent_core)

# The experiment on a simulated kernel: thousands of replays in seconds, with faults. Seconds in the
# release build only.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  sluice_test(node_simulation_test LABEL simulation
    SOURCES simulation/node_agent_twin.cpp simulation/node_kernel.cpp simulation/node_mutants_test.cpp
            simulation/node_run.cpp simulation/node_simulation_test.cpp
    DEPS    sluice::node_agent_core)
  set_tests_properties(node_simulation_test PROPERTIES TIMEOUT 900)
endif()
