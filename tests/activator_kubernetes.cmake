# The activator in a cluster: what it makes of the objects it is told of, its ports, and the pods it probes.
set(cluster_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/activator/kubernetes)
sluice_test(activator_cluster_test
  SOURCES ${cluster_tests}/cluster_view_test.cpp ${cluster_tests}/door_table_test.cpp
          ${cluster_tests}/pod_readiness_test.cpp ${cluster_tests}/replica_slices_test.cpp
  DEPS sluice::activator_cluster sluice::activator_core)
sluice_test(activator_cluster_objects_test
  SOURCES ${cluster_tests}/cluster_objects_test.cpp
  DEPS sluice::activator_cluster_objects)
sluice_test(activator_doors_test
  SOURCES ${cluster_tests}/scaler_doors_test.cpp unit/common/net/stage.cpp
  DEPS sluice::activator_doors)
sluice_test(pod_prober_test
  SOURCES unit/activator/io/pod_prober_test.cpp unit/common/net/stage.cpp
  DEPS sluice::activator_io)
sluice_test(front_gateway_test
  SOURCES unit/activator/io/front_gateway_test.cpp unit/common/net/stage.cpp
  DEPS sluice::activator_io)
sluice_test(activator_platform_test
  SOURCES ${cluster_tests}/cluster_platform_test.cpp unit/common/kube/fake_api.cpp
          unit/common/net/stage.cpp
  DEPS sluice::activator_platform sluice::tls)
if(TARGET sluice_activator_app)
  sluice_test(activator_autoscaler_stream_test
    SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/unit/activator/io/autoscaler_stream_test.cpp
            unit/common/rpc/rpc_stage.cpp
    DEPS sluice::activator_app)
endif()
