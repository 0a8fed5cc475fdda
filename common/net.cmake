sluice_library(http CORE
  SOURCES http/message.cpp http/header_block.cpp http/forwarding.cpp http/probe.cpp http/own_response.cpp
    http/head_check.cpp http/chunk_reader.cpp http/grpc_timeout.cpp http/websocket_frames.cpp
  HEADERS http/message.h http/header_block.h http/forwarding.h http/probe.h http/own_response.h
    http/fed.h http/octets.h http/text.h http/head_check.h http/chunk_reader.h http/grpc_timeout.h http/websocket_frames.h
  DEPS sluice::base sluice::time_core)
# The codec does no I/O, but uses Beast's parser inside.
sluice_library(h1_codec SOURCES http/h1_codec.cpp HEADERS http/h1_codec.h DEPS sluice::http
  PRIVATE_DEPS Boost::headers)
sluice_library(net
  SOURCES net/address.cpp net/socket.cpp net/peer_socket.cpp net/listener.cpp net/hangup_watch.cpp net/upstream_pool.cpp
    net/upstream_dial.cpp net/pool_probe.cpp net/open_files.cpp
    net/fetch.cpp net/ready_line.cpp net/exchange_timers.cpp net/h1_exchange.cpp net/h1_relay.cpp net/h1_upload.cpp
    net/h1_timing.cpp net/h1_tunnel.cpp net/h1_switch.cpp
    net/h1_leg.cpp net/h2_inbound.cpp net/h2_memory.cpp net/h2_past_streams.cpp net/h2_session.cpp net/h2_link.cpp net/h2_upstream.cpp net/h2_stream.cpp net/h2_ending.cpp net/h2_connection.cpp net/h2_timing.cpp
    net/proxy_server.cpp net/open_heads.cpp net/page_return.cpp
    net/tls_handshake.cpp
  HEADERS net/address.h net/socket.h net/peer_socket.h net/listener.h net/hangup_watch.h net/upstream_pool.h net/upstream_attempt.h net/pool_probe.h net/open_files.h
    net/byte_buffer.h net/body_queue.h net/dial_pace.h net/dial_plan.h net/fetch.h net/ready_line.h net/connection.h net/exchange.h
    net/exchange_timers.h net/h1_exchange.h net/h1_leg.h net/h2_frame_walk.h net/h2_memory.h net/h2_past_streams.h net/h2_session.h net/h2_link.h
    net/h2_upstream.h net/h2_stream.h net/h2_connection.h net/proxy_server.h net/open_heads.h net/page_return.h net/side_limits.h net/stream.h
    net/tls.h net/tls_handshake.h
  DEPS sluice::h1_codec sluice::clock Boost::headers Threads::Threads PRIVATE_DEPS sluice::nghttp2)
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
sluice_library(stat_codec SOURCES proto/stat_codec.cpp proto/stat_fields.cpp
  HEADERS proto/stat_codec.h proto/stat_fields.h
  DEPS sluice::messages PRIVATE_DEPS sluice::stat_proto)
sluice_library(log SOURCES log/log.cpp HEADERS log/log.h
  PRIVATE_DEPS sluice::base nlohmann_json::nlohmann_json)
