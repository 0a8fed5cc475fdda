# Requests that count for nothing.
set(ignore_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/ignore)
sluice_test(ignore_rules_test
  SOURCES ${ignore_tests}/rules_test.cpp
  DEPS    sluice::ignore_rules)
# Counts every allocation of its process, as allocation_test does.
if(CMAKE_BUILD_TYPE MATCHES "Release|Debug")
  sluice_test(ignore_rules_allocation_test
    SOURCES ${ignore_tests}/rules_allocation_test.cpp
    DEPS    sluice::ignore_rules)
endif()
