# One request of our own over HTTP/2, over TLS, and to a gRPC health service: what probes need beyond
# sluice::net.
sluice_library(h2_fetch SOURCES net/h2_fetch.cpp HEADERS net/h2_fetch.h DEPS sluice::net
  PRIVATE_DEPS sluice::nghttp2)
sluice_library(tls_client SOURCES net/tls_client.cpp net/tls_trust.cpp
  HEADERS net/tls_client.h net/tls_trust.h DEPS sluice::tls PRIVATE_DEPS sluice::openssl)
add_library(sluice_health_proto STATIC)
add_library(sluice::health_proto ALIAS sluice_health_proto)
target_sources(sluice_health_proto PRIVATE proto/health.proto)
protobuf_generate(TARGET sluice_health_proto LANGUAGE cpp IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/proto)
target_include_directories(sluice_health_proto SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR} ${Protobuf_INCLUDE_DIRS})
target_link_libraries(sluice_health_proto PUBLIC ${SLUICE_PROTOBUF_LITE} Threads::Threads)
sluice_library(health_codec SOURCES proto/health_codec.cpp HEADERS proto/health_codec.h
  DEPS sluice::base PRIVATE_DEPS sluice::health_proto)
