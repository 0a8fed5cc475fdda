# What an autoscaler that ends tells the next owner of its revisions. Generated code stays behind the
# codec.
add_library(sluice_hand_over_proto STATIC)
add_library(sluice::hand_over_proto ALIAS sluice_hand_over_proto)
target_sources(sluice_hand_over_proto PRIVATE proto/hand_over.proto)
protobuf_generate(TARGET sluice_hand_over_proto LANGUAGE cpp
  IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/proto)
target_include_directories(sluice_hand_over_proto SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR})
target_include_directories(sluice_hand_over_proto SYSTEM PUBLIC ${Protobuf_INCLUDE_DIRS})
target_link_libraries(sluice_hand_over_proto PUBLIC ${SLUICE_PROTOBUF_LITE} Threads::Threads)
sluice_library(hand_over_messages CORE HEADERS messages/hand_over.h
  DEPS sluice::base sluice::time_core)
sluice_library(hand_over_codec SOURCES proto/hand_over_codec.cpp HEADERS proto/hand_over_codec.h
  DEPS sluice::base sluice::hand_over_messages
  PRIVATE_DEPS sluice::stat_codec sluice::hand_over_proto)
