# Every row of the references that speaks of Kubernetes names a test that exists. No cluster is needed.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
add_test(NAME kubernetes_rows
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/kubernetes/test_rows.py)
set_tests_properties(kubernetes_rows PROPERTIES LABELS integration TIMEOUT 60)
