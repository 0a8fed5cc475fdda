# The activator's contract from outside, a test per theme. Debian's own interpreter is asked for
# first: it is the one that sees Debian's python3-h2.
if(TARGET activator AND TARGET queue-proxy)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  find_program(SLUICE_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  if(NOT SLUICE_DEBIAN_PYTHON)
    set(SLUICE_DEBIAN_PYTHON ${Python3_EXECUTABLE})
  endif()
  foreach(theme balancing contracts drain grants holding ignore overload probes protocols replicas resolution retry settings
      stats table tls)
    add_test(NAME integration_activator_${theme}
      COMMAND ${SLUICE_DEBIAN_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/integration/run.py
              ${CMAKE_BINARY_DIR}/bin activator.${theme})
    set_tests_properties(integration_activator_${theme} PROPERTIES LABELS integration TIMEOUT 300
      ENVIRONMENT "SLUICE_BUILD_TYPE=${CMAKE_BUILD_TYPE}")
  endforeach()
endif()
