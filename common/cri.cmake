# What the node agent says to a container runtime (CRI v1) and to the autoscaler. Generated code stays
# behind the codecs.
foreach(name cri node_stream)
  add_library(sluice_${name}_proto STATIC)
  add_library(sluice::${name}_proto ALIAS sluice_${name}_proto)
  target_sources(sluice_${name}_proto PRIVATE proto/${name}.proto)
  protobuf_generate(TARGET sluice_${name}_proto LANGUAGE cpp
    IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/proto)
  target_include_directories(sluice_${name}_proto SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR})
  target_include_directories(sluice_${name}_proto SYSTEM PUBLIC ${Protobuf_INCLUDE_DIRS})
  target_link_libraries(sluice_${name}_proto PUBLIC ${SLUICE_PROTOBUF_LITE} Threads::Threads)
endforeach()
sluice_library(cri_messages CORE HEADERS messages/cri.h)
sluice_library(cri_codec SOURCES proto/cri_codec.cpp HEADERS proto/cri_codec.h
  DEPS sluice::base sluice::cri_messages PRIVATE_DEPS sluice::cri_proto)
sluice_library(node_stream_messages CORE HEADERS messages/node_stream.h DEPS sluice::time_core)
sluice_library(node_stream_codec SOURCES proto/node_stream_codec.cpp
  HEADERS proto/node_stream_codec.h DEPS sluice::base sluice::node_stream_messages
  PRIVATE_DEPS sluice::node_stream_proto)
# Calls of one answer, beside the streams of sluice::rpc.
sluice_library(rpc_unary SOURCES rpc/unary.cpp HEADERS rpc/unary.h
  DEPS sluice::rpc PRIVATE_DEPS ${SLUICE_GRPCPP} ${SLUICE_GRPC} ${SLUICE_GPR})
