# The node agent over a real container runtime, a test per theme. The laboratory takes the machine for
# itself: its control groups have fixed names. Where there is none to be had (no root, no containerd,
# control groups that cannot be written), the reason is printed and ctest reports SKIPPED.
# Of a release or debug build: a sanitizer slows the agent down beyond what its leases allow.
if(TARGET node-agent AND CMAKE_BUILD_TYPE MATCHES "^(Release|Debug)$")
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  find_program(SLUICE_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  if(NOT SLUICE_DEBIAN_PYTHON)
    set(SLUICE_DEBIAN_PYTHON ${Python3_EXECUTABLE})
  endif()
  foreach(theme crash endings lab runtime table throttling)
    add_test(NAME integration_node_agent_${theme}
      COMMAND ${SLUICE_DEBIAN_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/integration/run.py
              ${CMAKE_BINARY_DIR}/bin node_agent.${theme})
    set_tests_properties(integration_node_agent_${theme} PROPERTIES LABELS "integration;lab" TIMEOUT 300
      RUN_SERIAL ON SKIP_REGULAR_EXPRESSION "no laboratory on this machine")
  endforeach()
endif()
