# The rules of the house, checked on the source tree, and the proof that each rule bites.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
add_test(NAME tidy
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/tidy/tidy.py ${PROJECT_SOURCE_DIR})
add_test(NAME tidy_self_test
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/tidy/tidy_self_test.py)
set_tests_properties(tidy tidy_self_test PROPERTIES LABELS tidy TIMEOUT 60)
