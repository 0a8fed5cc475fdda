# Real binaries on loopback, driven from Python; one test per theme.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
if(TARGET sluice)
  foreach(theme lifecycle faults bad_input load scale_events)
    add_test(NAME integration_${theme}
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/integration/run.py
              ${CMAKE_BINARY_DIR}/bin ${theme})
    # Each test has runtime directories of its own, so engines of two themes would not see each
    # other's reservations of replica ports.
    set_tests_properties(integration_${theme} PROPERTIES LABELS integration TIMEOUT 600
      RESOURCE_LOCK replica_ports)
  endforeach()
endif()
if(TARGET queue-proxy)
  add_test(NAME integration_queue_proxy
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/integration/run.py
            ${CMAKE_BINARY_DIR}/bin queue_proxy)
  set_tests_properties(integration_queue_proxy PROPERTIES LABELS integration TIMEOUT 300)
endif()
