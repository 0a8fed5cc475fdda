# How a library, a program, a test and a benchmark are made here.

# What nearly every file of io reads first, compiled once for all of them (common/DECISIONS.md 8).
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "")
set(precompiled
  <boost/asio/io_context.hpp> <boost/asio/steady_timer.hpp> <boost/asio/generic/stream_protocol.hpp>
  <boost/asio/ip/tcp.hpp> <boost/asio/local/stream_protocol.hpp> <boost/asio/signal_set.hpp>
  <boost/asio/posix/stream_descriptor.hpp> <boost/system/result.hpp>
  <algorithm> <chrono> <functional> <map> <memory> <optional> <random> <span> <string>
  <string_view> <unordered_map> <variant> <vector>)
add_library(sluice_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
target_link_libraries(sluice_precompiled PRIVATE sluice::warnings Boost::headers Threads::Threads)
target_precompile_headers(sluice_precompiled PRIVATE ${precompiled})

# What computes for minutes where all else is not optimised: cores, and simulations of them.
set(computes $<$<CONFIG:Asan,Tsan>:-O1>)

# The same for tests, with GoogleTest. They are not optimised: what they test is built as it ships.
set(test_options $<$<CONFIG:Release>:-O0>)
add_library(sluice_precompiled_tests OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
target_link_libraries(sluice_precompiled_tests PRIVATE sluice::warnings Boost::headers GTest::gtest)
target_compile_options(sluice_precompiled_tests PRIVATE ${test_options})
target_precompile_headers(sluice_precompiled_tests PRIVATE ${precompiled} <gtest/gtest.h>)

# sluice_library(NAME [CORE] [ALONE] SOURCES ... [APART ...] HEADERS ... [DEPS public...] [PRIVATE_DEPS ...]
#                [PRECOMPILED <header>...])
# Makes sluice_NAME, alias sluice::NAME. A header beside a source of the same name belongs to it; HEADERS
# lists those that have no source. A CORE library decides and does no I/O: configuration fails when it
# links anything that is not itself CORE. PRECOMPILED: headers of its own instead of those above. Where sources
# are compiled in groups (common/DECISIONS.md 15), those of APART, or with ALONE all, are not.
function(sluice_library name)
  cmake_parse_arguments(ARG "CORE;ALONE" "" "SOURCES;APART;HEADERS;DEPS;PRIVATE_DEPS;PRECOMPILED" ${ARGN})
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(APPEND ARG_SOURCES ${ARG_APART})
  if(ARG_SOURCES)
    add_library(sluice_${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(sluice_${name} PRIVATE sluice::warnings ${ARG_PRIVATE_DEPS})
    # For the linker, which drops what a program does not reach.
    target_compile_options(sluice_${name} PRIVATE $<$<CONFIG:Release>:-ffunction-sections -fdata-sections>)
  else()
    add_library(sluice_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(sluice::${name} ALIAS sluice_${name})
  foreach(source IN LISTS ARG_SOURCES)
    string(REGEX REPLACE "[.]cpp$" ".h" header ${source})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${header})
      list(APPEND ARG_HEADERS ${header})
    endif()
  endforeach()
  target_sources(sluice_${name} ${scope}
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_include_directories(sluice_${name} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(sluice_${name} ${scope} ${ARG_DEPS})
  if(ARG_PRECOMPILED)
    target_precompile_headers(sluice_${name} PRIVATE ${ARG_PRECOMPILED})
  elseif(ARG_SOURCES AND ARG_CORE)
    target_compile_options(sluice_${name} PRIVATE ${computes})
  elseif(ARG_SOURCES)
    target_precompile_headers(sluice_${name} REUSE_FROM sluice_precompiled)
  endif()
  if(ARG_ALONE)
    set_target_properties(sluice_${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  set_target_properties(sluice_${name} PROPERTIES SLUICE_CORE "${ARG_CORE}"
    VERIFY_INTERFACE_HEADER_SETS ON)
  if(ARG_CORE)
    foreach(dep IN LISTS ARG_DEPS ARG_PRIVATE_DEPS)
      if(dep STREQUAL "sluice::exact_floats")
        continue()
      endif()
      set(is_core FALSE)
      if(TARGET ${dep})
        get_target_property(is_core ${dep} SLUICE_CORE)
      endif()
      if(NOT is_core)
        message(FATAL_ERROR "sluice_${name} is CORE and may not link ${dep}, which is not. "
          "Move the I/O to an io target.")
      endif()
    endforeach()
  endif()
endfunction()

# sluice_proto(NAME FILE...): the code that protoc makes of the files, without our warnings. A codec
# includes it as <FOLDER/FILE.pb.h>.
function(sluice_proto name)
  add_library(sluice_${name} STATIC)
  add_library(sluice::${name} ALIAS sluice_${name})
  target_sources(sluice_${name} PRIVATE ${ARGN})
  list(GET ARGN 0 first)
  cmake_path(GET first PARENT_PATH folder)
  protobuf_generate(TARGET sluice_${name} LANGUAGE cpp IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
  target_include_directories(sluice_${name} SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/${folder} ${Protobuf_INCLUDE_DIRS})
  target_link_libraries(sluice_${name} PUBLIC ${SLUICE_PROTOBUF_LITE} Threads::Threads)
endfunction()

# sluice_program(NAME SOURCES ... DEPS ...): an executable in bin/ under its own name.
function(sluice_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE sluice::warnings ${ARG_DEPS})
endfunction()

# sluice_test(NAME [ALONE] SOURCES ... [APART ...] DEPS ... [LABEL unit]): a GoogleTest binary in tests/, known to ctest.
# Not of cores alone under ThreadSanitizer: they start no thread and link nothing that could.
function(sluice_test name)
  cmake_parse_arguments(ARG "ALONE" "LABEL" "SOURCES;APART;DEPS" ${ARGN})
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(APPEND ARG_SOURCES ${ARG_APART})
  set(cores_alone TRUE)
  foreach(dep IN LISTS ARG_DEPS)
    get_target_property(is_core ${dep} SLUICE_CORE)
    if(NOT is_core)
      set(cores_alone FALSE)
    endif()
  endforeach()
  if(SLUICE_THREADS_ONLY AND cores_alone)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # A test is built with its room left out, too: it is registered all the same.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests EXCLUDE_FROM_ALL OFF)
  if(ARG_ALONE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE sluice::warnings GTest::gtest_main ${ARG_DEPS})
  if(ARG_LABEL STREQUAL "simulation")
    target_compile_options(${name} PRIVATE ${computes})
  else()
    target_compile_options(${name} PRIVATE ${test_options})
    target_precompile_headers(${name} REUSE_FROM sluice_precompiled_tests)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
endfunction()

# sluice_fixture(NAME SOURCES ... DEPS ...): what tests of several rooms stand on, compiled once.
function(sluice_fixture name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(sluice_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(sluice_${name} PRIVATE sluice::warnings PUBLIC GTest::gtest ${ARG_DEPS})
  target_compile_options(sluice_${name} PRIVATE ${test_options})
endfunction()

# sluice_simulation(NAME SOURCES ... DEPS ...): a world around cores for several tests. Simulated days are many
# events, so it is optimised in every build.
function(sluice_simulation name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(sluice_${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  add_library(sluice::${name} ALIAS sluice_${name})
  target_include_directories(sluice_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(sluice_${name} PRIVATE sluice::warnings PUBLIC ${ARG_DEPS})
  target_compile_options(sluice_${name} PRIVATE ${computes} $<$<CONFIG:Debug>:-O1>)
endfunction()

# sluice_python_test(NAME LABEL label [TIMEOUT seconds] COMMAND script arguments...): a test in Python.
# Debian's own interpreter is asked for first: it is the one that sees Debian's python3-h2.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_program(SLUICE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT SLUICE_PYTHON)
  set(SLUICE_PYTHON ${Python3_EXECUTABLE})
endif()
function(sluice_python_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "COMMAND" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_test(NAME ${name} COMMAND ${SLUICE_PYTHON} -B ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# sluice_bench(NAME SOURCES ... DEPS ...): a Google Benchmark binary in bench/.
function(sluice_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE sluice::warnings benchmark::benchmark ${ARG_DEPS})
endfunction()
