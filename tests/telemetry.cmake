# What the sidecar tells of its requests. The exposition is held against prometheus-cpp's, which the
# sidecar itself cannot link: Debian has no archive of it.
set(telemetry_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/queue-proxy/core)
sluice_test(telemetry_test
  SOURCES unit/common/metrics/exposition_test.cpp unit/common/log/request_log_test.cpp
          unit/common/base/clean_text_test.cpp ${telemetry_tests}/original_host_test.cpp
          ${telemetry_tests}/request_metrics_test.cpp ${telemetry_tests}/older_metrics_test.cpp
  DEPS sluice::queue_proxy_telemetry sluice::request_log prometheus-cpp::core)
sluice_test(observability_config_test
  SOURCES unit/common/settings/observability_test.cpp
          unit/common/settings/knative_contract_test.cpp DEPS sluice::queue_proxy_app)
sluice_test(log_level_test SOURCES unit/common/settings/log_level_test.cpp DEPS sluice::log_level)
