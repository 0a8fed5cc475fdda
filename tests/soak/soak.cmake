# The lost-request test: pods, two activators and an autoscaler under traffic and faults, and an
# account that must close. tests/soak/README.md tells what it does.
set(soak ${CMAKE_CURRENT_LIST_DIR})

# What runs in its pods. Never under a sanitizer: hundreds start, and it is not what is tested.
add_executable(soak_app ${soak}/app/main.cpp ${soak}/app/loop.cpp ${soak}/app/h1.cpp
                        ${soak}/app/h2.cpp ${soak}/app/journal.cpp)
set_target_properties(soak_app PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(soak_app PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(soak_app PRIVATE -O1 -fno-sanitize=all)
target_link_options(soak_app PRIVATE -fno-sanitize=all -static)
target_link_libraries(soak_app PRIVATE sluice::warnings sluice::nghttp2)

sluice_python_test(soak_account LABEL unit COMMAND ${soak}/account_test.py)
sluice_python_test(soak_pod LABEL integration TIMEOUT 300 COMMAND ${soak}/pod_test.py ${CMAKE_BINARY_DIR}/bin)

# The short form runs with all tests; the bounded one has the label `soak` and is asked for by it.
set(run ${soak}/run.py ${CMAKE_BINARY_DIR}/bin --seed 1)
sluice_python_test(soak_short LABEL integration TIMEOUT 600 COMMAND ${run} --events 60)
sluice_python_test(soak_bounded LABEL soak TIMEOUT 1800 COMMAND ${run} --events 1000)
set_tests_properties(soak_short soak_bounded PROPERTIES PROCESSORS 2)
