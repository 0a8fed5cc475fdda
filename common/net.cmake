sluice_library(http CORE
  SOURCES http/message.cpp http/forwarding.cpp http/probe.cpp http/own_response.cpp
  HEADERS http/message.h http/forwarding.h http/probe.h http/own_response.h
  DEPS sluice::base)
# The codec does no I/O, but uses Beast's parser inside.
sluice_library(h1_codec SOURCES http/h1_codec.cpp HEADERS http/h1_codec.h DEPS sluice::http
  PRIVATE_DEPS Boost::headers)
sluice_library(net
  SOURCES net/address.cpp net/socket.cpp net/listener.cpp net/hangup_watch.cpp net/upstream_pool.cpp
    net/fetch.cpp net/ready_line.cpp net/exchange.cpp net/exchange_relay.cpp net/proxy_server.cpp
  HEADERS net/address.h net/socket.h net/listener.h net/hangup_watch.h net/upstream_pool.h
    net/byte_buffer.h net/fetch.h net/ready_line.h net/exchange.h net/proxy_server.h
  DEPS sluice::h1_codec sluice::clock Boost::headers Threads::Threads)
# Generated code is kept apart from our warnings and behind stat_codec's twin of the message.
add_library(sluice_stat_proto STATIC)
add_library(sluice::stat_proto ALIAS sluice_stat_proto)
target_sources(sluice_stat_proto PRIVATE proto/stat.proto)
protobuf_generate(TARGET sluice_stat_proto LANGUAGE cpp IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/proto)
target_include_directories(sluice_stat_proto SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR})
# The archive, so that the sidecar can be linked statically.
find_library(SLUICE_PROTOBUF_LITE NAMES libprotobuf-lite.a REQUIRED)
target_include_directories(sluice_stat_proto SYSTEM PUBLIC ${Protobuf_INCLUDE_DIRS})
target_link_libraries(sluice_stat_proto PUBLIC ${SLUICE_PROTOBUF_LITE} Threads::Threads)
sluice_library(stat_codec SOURCES proto/stat_codec.cpp HEADERS proto/stat_codec.h
  DEPS sluice::base PRIVATE_DEPS sluice::stat_proto)
sluice_library(log SOURCES log/log.cpp HEADERS log/log.h PRIVATE_DEPS nlohmann_json::nlohmann_json)
