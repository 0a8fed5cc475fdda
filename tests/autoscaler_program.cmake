# The autoscaler as a program: the files it follows, and the real process on loopback. Debian's own
# interpreter is asked for first: it is the one that sees Debian's python3-h2.
set(files_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/files)
sluice_test(files_test
  SOURCES ${files_tests}/directory_watch_test.cpp ${files_tests}/file_io_test.cpp
          ${files_tests}/platform_directory_test.cpp ${files_tests}/revision_file_test.cpp
          ${files_tests}/scale_file_test.cpp
  DEPS    sluice::files)
sluice_test(autoscaler_io_test
  SOURCES unit/autoscaler/core/node_book_test.cpp
          unit/autoscaler/core/removals_test.cpp unit/autoscaler/io/activator_streams_test.cpp
          unit/autoscaler/io/api_text_test.cpp
          unit/autoscaler/io/config_test.cpp unit/autoscaler/io/decision_ring_test.cpp
          unit/autoscaler/io/directory_platform_test.cpp unit/autoscaler/io/fleet_test.cpp
          unit/autoscaler/io/health_page_test.cpp
          unit/common/rpc/rpc_stage.cpp
  DEPS    sluice::autoscaler_app sluice::activator_stream_codec)
if(TARGET autoscaler)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  find_program(SLUICE_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  if(NOT SLUICE_DEBIAN_PYTHON)
    set(SLUICE_DEBIAN_PYTHON ${Python3_EXECUTABLE})
  endif()
  foreach(theme doors nodes platform streams tls)
    add_test(NAME integration_autoscaler_${theme}
      COMMAND ${SLUICE_DEBIAN_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/integration/run.py
              ${CMAKE_BINARY_DIR}/bin autoscaler.${theme})
    set_tests_properties(integration_autoscaler_${theme} PROPERTIES LABELS integration TIMEOUT 300)
  endforeach()
endif()
