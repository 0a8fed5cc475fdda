# How it reaches a machine: manifests, dashboards, alerts, images.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
# What is shipped is the release build; no other has its sizes.
if(NOT SLUICE_THREADS_ONLY)
  sluice_test(sluice_install_test SOURCES unit/sluice/commands/install_test.cpp DEPS sluice::installation)
  set(themes chart monitoring)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND themes images)
  endif()
  foreach(theme IN LISTS themes)
    add_test(NAME deploy_${theme}
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/deploy/${theme}_test.py ${CMAKE_BINARY_DIR}/bin)
    set_tests_properties(deploy_${theme} PROPERTIES LABELS deploy TIMEOUT 120)
  endforeach()
endif()
