# The TLS listener: sessions, handshakes, settings, and certificates that change on disk.
set(tls_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/net)
sluice_test(tls_test
  SOURCES ${tls_tests}/stage.cpp ${tls_tests}/tls_peer.cpp ${tls_tests}/tls_test.cpp
          ${tls_tests}/tls_server_test.cpp ${tls_tests}/tls_settings_test.cpp
  DEPS sluice::tls sluice::openssl)

set(tls_sidecar_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/queue-proxy)
sluice_test(queue_proxy_tls_test
  SOURCES ${tls_sidecar_tests}/core/tls_config_test.cpp
          ${tls_sidecar_tests}/io/certificate_watch_test.cpp
  DEPS sluice::queue_proxy_app)
