# Several autoscaler replicas: who holds which bucket.
sluice_test(lease_election_test LABEL simulation
  SOURCES unit/autoscaler/core/lease_election_test.cpp unit/autoscaler/core/lease_world_test.cpp
  DEPS sluice::autoscaler_core)
sluice_test(holder_socket_test
  SOURCES unit/autoscaler/io/holder_socket_test.cpp
  DEPS sluice::autoscaler_ha sluice::autoscaler_io)
sluice_test(bucket_leases_test
  SOURCES unit/autoscaler/kubernetes/io/bucket_leases_test.cpp unit/common/kube/fake_api.cpp
  DEPS sluice::autoscaler_leases sluice::kube sluice::tls nlohmann_json::nlohmann_json)
