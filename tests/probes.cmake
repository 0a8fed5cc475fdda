# What a readiness probe is made of: its JSON, its redirects, gRPC's health messages.
set(probe_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/queue-proxy/core)
sluice_test(probe_test
  SOURCES ${probe_tests}/probe_config_test.cpp ${probe_tests}/probe_url_test.cpp
          unit/common/proto/health_codec_test.cpp
  DEPS sluice::queue_proxy_app)
