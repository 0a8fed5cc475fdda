# Real binaries on loopback, driven from Python; one test per theme.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
if(TARGET sluice AND NOT SLUICE_THREADS_ONLY)
  foreach(theme lifecycle faults bad_input doors door_http2 door_users hosts load memory_pressure overload scale_events)
    add_test(NAME integration_${theme}
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/integration/run.py
              ${CMAKE_BINARY_DIR}/bin ${theme})
    # Each test has runtime directories of its own, so engines of two themes would not see each
    # other's reservations of replica ports.
    set_tests_properties(integration_${theme} PROPERTIES LABELS integration TIMEOUT 600
      RESOURCE_LOCK replica_ports)
  endforeach()
  # Other users and other machines: as root, beside an address that is not the loopback's.
  set_tests_properties(integration_door_users PROPERTIES
    SKIP_REGULAR_EXPRESSION "no second user or address on this machine")
endif()
# The sidecar's contract, a test per theme. Debian's own interpreter is asked for first: it is the one
# that sees Debian's python3-h2.
if(TARGET queue-proxy)
  find_program(SLUICE_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  if(NOT SLUICE_DEBIAN_PYTHON)
    set(SLUICE_DEBIAN_PYTHON ${Python3_EXECUTABLE})
  endif()
  foreach(theme admission broken drain h2 h2_flow h2_heads h2_hostile h2_upgrade headers host hostile listening
      observability older_knative probes
      real_clients stats streaming table timers tls upgrade)
    add_test(NAME integration_queue_proxy_${theme}
      COMMAND ${SLUICE_DEBIAN_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/integration/run.py
              ${CMAKE_BINARY_DIR}/bin queue_proxy.${theme})
    set_tests_properties(integration_queue_proxy_${theme} PROPERTIES LABELS integration TIMEOUT 300
      ENVIRONMENT "SLUICE_BUILD_TYPE=${CMAKE_BUILD_TYPE}")
  endforeach()
endif()
