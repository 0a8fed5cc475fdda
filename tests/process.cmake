# What a service is, and the processes that run it (sluice/local).
if(SLUICE_THREADS_ONLY)
  return()
endif()
set(process_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/sluice/local)
sluice_test(service_spec_test
  SOURCES ${process_tests}/quantity_test.cpp ${process_tests}/service_spec_test.cpp
          ${process_tests}/service_parser_test.cpp
  DEPS    sluice::service_spec)
sluice_test(start_backoff_test
  SOURCES ${process_tests}/backoff_test.cpp DEPS sluice::start_backoff)

sluice_test(memory_rules_test
  SOURCES ${process_tests}/memory_rules_test.cpp DEPS sluice::memory_rules)
sluice_test(memory_pressure_test
  SOURCES ${process_tests}/memory_pressure_test.cpp DEPS sluice::memory_pressure)

# The app and the stand-in for the sidecar that the process tests start.
add_executable(process_test_actor ${process_tests}/actor.cpp)
set_target_properties(process_test_actor PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
sluice_test(process_test LABEL integration
  SOURCES ${process_tests}/child_test.cpp ${process_tests}/ports_test.cpp
          ${process_tests}/replica_test.cpp ${process_tests}/records_test.cpp
  DEPS    sluice::process)
target_compile_definitions(process_test PRIVATE
  SLUICE_TEST_ACTOR="$<TARGET_FILE:process_test_actor>")
add_dependencies(process_test process_test_actor)
# Its stand-ins take replica ports, as the engines of the integration tests do.
set_tests_properties(process_test PROPERTIES RESOURCE_LOCK replica_ports)
