# The lost-request test: pods, two activators and an autoscaler under traffic and faults, and an
# account that must close. tests/soak/README.md tells what it does.
set(soak ${CMAKE_CURRENT_LIST_DIR}/soak)

# What runs in its pods. Never under a sanitizer: hundreds start, and it is not what is tested.
add_executable(soak_app ${soak}/app/main.cpp ${soak}/app/loop.cpp ${soak}/app/h1.cpp
                        ${soak}/app/h2.cpp ${soak}/app/journal.cpp)
set_target_properties(soak_app PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(soak_app PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(soak_app PRIVATE -O1 -fno-sanitize=all)
target_link_options(soak_app PRIVATE -fno-sanitize=all -static)
target_link_libraries(soak_app PRIVATE sluice::warnings sluice::nghttp2)

# Debian's own interpreter sees Debian's python3-h2.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_program(SLUICE_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT SLUICE_DEBIAN_PYTHON)
  set(SLUICE_DEBIAN_PYTHON ${Python3_EXECUTABLE})
endif()
set(soak_python ${SLUICE_DEBIAN_PYTHON} -B)

add_test(NAME soak_account COMMAND ${soak_python} ${soak}/account_test.py)
set_tests_properties(soak_account PROPERTIES LABELS unit TIMEOUT 60)
if(TARGET queue-proxy)
  add_test(NAME soak_pod COMMAND ${soak_python} ${soak}/pod_test.py ${CMAKE_BINARY_DIR}/bin)
  set_tests_properties(soak_pod PROPERTIES LABELS integration TIMEOUT 300)
endif()

# The short form runs with all tests; the bounded one has the label `soak` and is asked for by it.
if(TARGET queue-proxy AND TARGET activator AND TARGET autoscaler)
  set(soak_run ${soak_python} ${soak}/run.py ${CMAKE_BINARY_DIR}/bin)
  add_test(NAME soak_short COMMAND ${soak_run} --events 60 --seed 1)
  set_tests_properties(soak_short PROPERTIES LABELS integration TIMEOUT 600 PROCESSORS 2)
  add_test(NAME soak_bounded COMMAND ${soak_run} --events 1000 --seed 1)
  set_tests_properties(soak_bounded PROPERTIES LABELS soak TIMEOUT 1800 PROCESSORS 2)
endif()
