# The stream between activator and autoscaler: bytes, transport, and both ends' state machines.
set(net_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/net)
set(rpc_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/rpc)
sluice_test(rpc_test
  SOURCES ${rpc_tests}/rpc_stage.cpp ${rpc_tests}/call_test.cpp ${rpc_tests}/reconnect_test.cpp
          ${rpc_tests}/tls_test.cpp ${rpc_tests}/admission_test.cpp ${rpc_tests}/door_test.cpp
          ${net_tests}/tls_peer.cpp
  DEPS sluice::rpc sluice::h2_fetch sluice::health_codec sluice::tls sluice::openssl)
sluice_test(stream_core_test
  SOURCES unit/common/proto/activator_stream_codec_test.cpp
          unit/activator/core/autoscaler_link_test.cpp
          unit/activator/core/autoscaler_link_limits_test.cpp
          unit/activator/core/stream_walk_test.cpp unit/autoscaler/core/activator_hub_test.cpp
  DEPS sluice::activator_stream_codec sluice::autoscaler_core sluice::autoscaler_link
       sluice::stat_messages_codec)
