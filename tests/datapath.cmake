# The data path: codecs and header rules, exchanges over loopback, the sidecar's cores.
set(net_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/net)
sluice_test(exchange_test LABEL unit
  SOURCES ${net_tests}/stage.cpp ${net_tests}/exchange_test.cpp ${net_tests}/exchange_end_test.cpp
          ${net_tests}/h1_tunnel_test.cpp ${net_tests}/hostile_test.cpp
          ${net_tests}/streaming_test.cpp ${net_tests}/pool_probe_test.cpp
          ${net_tests}/h2_client_test.cpp ${net_tests}/h2_retry_test.cpp ${net_tests}/byte_buffer_test.cpp
          ${net_tests}/dial_pace_test.cpp ${net_tests}/exchange_timers_test.cpp
          ${net_tests}/open_files_test.cpp ${net_tests}/peer_socket_test.cpp
          ${net_tests}/open_heads_test.cpp ${net_tests}/budget_test.cpp
  DEPS sluice::net)

# Counts every allocation of its process, so it is a program of its own, and none for a sanitizer, which
# has an allocator of its own.
if(CMAKE_BUILD_TYPE MATCHES "Release|Debug")
  sluice_test(allocation_test LABEL unit
    SOURCES ${net_tests}/stage.cpp ${net_tests}/allocation_test.cpp
    DEPS sluice::net)
endif()

set(http_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/http)
sluice_test(http_test
  SOURCES ${http_tests}/message_test.cpp ${http_tests}/h1_codec_test.cpp
          ${http_tests}/forwarding_test.cpp ${http_tests}/probe_test.cpp
          ${http_tests}/own_response_test.cpp ${http_tests}/head_check_test.cpp
          ${http_tests}/websocket_frames_test.cpp
  DEPS sluice::h1_codec)

# What a cold start costs: the application's own times against the client's.
add_executable(quick_app ${CMAKE_CURRENT_SOURCE_DIR}/support/quick_app.cpp)
set_target_properties(quick_app PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(quick_app PRIVATE sluice::warnings)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
if(TARGET sluice AND NOT SLUICE_THREADS_ONLY)
  add_test(NAME integration_cold_start
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/integration/run.py
            ${CMAKE_BINARY_DIR}/bin cold_start)
  set_tests_properties(integration_cold_start PROPERTIES LABELS integration TIMEOUT 600
    RESOURCE_LOCK replica_ports
    ENVIRONMENT "SLUICE_QUICK_APP=$<TARGET_FILE:quick_app>")
endif()

set(sidecar_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/queue-proxy/core)
sluice_test(queue_proxy_core_test
  SOURCES ${sidecar_tests}/drain_test.cpp ${sidecar_tests}/readiness_test.cpp
          ${sidecar_tests}/config_test.cpp
  DEPS sluice::queue_proxy_app)

# Two small values of the engine, compiled here so that the test need not link all of it.
sluice_test(engine_figures_test
  SOURCES unit/sluice/local/callers_test.cpp unit/sluice/local/latency_test.cpp
          ${PROJECT_SOURCE_DIR}/sluice/local/callers.cpp
          ${PROJECT_SOURCE_DIR}/sluice/local/latency.cpp
  DEPS sluice::time_core)
