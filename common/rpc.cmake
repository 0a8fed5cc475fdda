# Bytes of the messages between activator and autoscaler. Generated code stays behind the codecs.
add_library(sluice_activator_stream_proto STATIC)
add_library(sluice::activator_stream_proto ALIAS sluice_activator_stream_proto)
target_sources(sluice_activator_stream_proto PRIVATE proto/activator_stream.proto)
protobuf_generate(TARGET sluice_activator_stream_proto LANGUAGE cpp
  IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/proto)
target_include_directories(sluice_activator_stream_proto SYSTEM PUBLIC
  ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/proto)
target_link_libraries(sluice_activator_stream_proto PUBLIC sluice::stat_proto)
sluice_library(stat_messages_codec
  SOURCES proto/stat_messages_codec.cpp HEADERS proto/stat_messages_codec.h
  DEPS sluice::base sluice::messages PRIVATE_DEPS sluice::stat_codec sluice::stat_proto)
sluice_library(activator_stream_codec
  SOURCES proto/activator_stream_codec.cpp HEADERS proto/activator_stream_codec.h
  DEPS sluice::base sluice::messages
  PRIVATE_DEPS sluice::stat_codec sluice::activator_stream_proto)
# gRPC as a transport of bytes. Debian has it as shared libraries only, which bring OpenSSL's along;
# the archives that our own TLS and codecs are made of stay invisible to them, each in its own copy.
find_library(SLUICE_GRPCPP NAMES grpc++ REQUIRED)
find_library(SLUICE_GRPC NAMES grpc REQUIRED)
find_library(SLUICE_GPR NAMES gpr REQUIRED)
find_library(SLUICE_ABSL_SYNCHRONIZATION NAMES absl_synchronization REQUIRED)
sluice_library(rpc
  SOURCES rpc/admission.cpp rpc/byte_message.cpp rpc/call.cpp rpc/call_state.cpp rpc/channel.cpp rpc/client.cpp rpc/credentials.cpp
    rpc/ending.cpp rpc/first_byte.cpp rpc/handshake_log.cpp rpc/live_calls.cpp rpc/server.cpp rpc/uncalled.cpp
  HEADERS rpc/admission.h rpc/call.h rpc/client.h rpc/ending.h rpc/server.h
  DEPS sluice::base sluice::certificate_core sluice::net sluice::time_core
  PRIVATE_DEPS ${SLUICE_GRPCPP} ${SLUICE_GRPC} ${SLUICE_GPR}
    ${SLUICE_ABSL_SYNCHRONIZATION})
target_link_options(sluice_rpc INTERFACE
  LINKER:--exclude-libs,libssl.a:libcrypto.a:libprotobuf-lite.a)
