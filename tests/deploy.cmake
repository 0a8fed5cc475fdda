# How it reaches a machine: manifests, dashboards, alerts, images.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
if(NOT SLUICE_THREADS_ONLY)
  sluice_test(sluice_install_test SOURCES unit/sluice/commands/install_test.cpp DEPS sluice::installation)
  foreach(theme chart monitoring images)
    add_test(NAME deploy_${theme}
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/deploy/${theme}_test.py ${CMAKE_BINARY_DIR}/bin)
    set_tests_properties(deploy_${theme} PROPERTIES LABELS deploy TIMEOUT 120)
  endforeach()
endif()
