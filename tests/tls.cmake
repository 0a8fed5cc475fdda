# The TLS listener: sessions, handshakes, settings, and certificates that change on disk.
set(tls_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/net)
sluice_test(tls_test
  SOURCES ${tls_tests}/stage.cpp ${tls_tests}/tls_peer.cpp ${tls_tests}/tls_test.cpp
          ${tls_tests}/tls_server_test.cpp ${tls_tests}/tls_settings_test.cpp
          ${tls_tests}/tls_upstream_test.cpp
  DEPS sluice::tls sluice::tls_client sluice::h2_fetch sluice::openssl)

sluice_test(queue_proxy_tls_test
  SOURCES unit/common/settings/tls_variables_test.cpp ${tls_tests}/certificate_watch_test.cpp
  DEPS sluice::queue_proxy_app)
