# What CI runs, with a stand-in for ./dev.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
add_test(NAME ci_run COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/ci/run_test.py)
set_tests_properties(ci_run PROPERTIES LABELS tidy TIMEOUT 120)
