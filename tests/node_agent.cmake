# The node agent: calls of one answer, the senses on fixture trees, a runtime that is played.
add_library(sluice_unary_server STATIC ${CMAKE_CURRENT_SOURCE_DIR}/support/unary_server.cpp)
add_library(sluice::unary_server ALIAS sluice_unary_server)
target_include_directories(sluice_unary_server PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(sluice_unary_server PRIVATE sluice::warnings ${SLUICE_GRPCPP} ${SLUICE_GRPC}
  ${SLUICE_GPR} PUBLIC sluice::rpc)
set(rpc_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/rpc)
sluice_test(rpc_unary_test
  SOURCES ${rpc_tests}/unary_test.cpp ${rpc_tests}/rpc_stage.cpp
  DEPS    sluice::rpc_unary sluice::unary_server)
set(node_agent_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/autoscaler/node-agent/io)
sluice_test(node_agent_io_test
  SOURCES ${node_agent_tests}/fixture_tree.cpp ${node_agent_tests}/fake_runtime.cpp
          ${node_agent_tests}/cgroup_files_test.cpp ${node_agent_tests}/config_test.cpp
          ${node_agent_tests}/container_events_test.cpp ${node_agent_tests}/container_watch_test.cpp ${node_agent_tests}/control_loop_test.cpp
          ${node_agent_tests}/cri_client_test.cpp ${node_agent_tests}/enrolment_test.cpp ${node_agent_tests}/guardian_test.cpp
          ${node_agent_tests}/journal_file_test.cpp ${node_agent_tests}/memory_sense_test.cpp
          ${node_agent_tests}/pod_marks_test.cpp ${node_agent_tests}/report_pace_test.cpp
          ${node_agent_tests}/status_text_test.cpp
          ${rpc_tests}/rpc_stage.cpp unit/common/net/tls_peer.cpp
          unit/common/proto/cri_codec_test.cpp
          unit/common/proto/node_stream_codec_test.cpp
  DEPS    sluice::node_agent_app sluice::cri_codec sluice::cri_proto sluice::node_stream_codec
          sluice::unary_server sluice::certificates sluice::enrolment_text sluice::files sluice::tls sluice::openssl)
