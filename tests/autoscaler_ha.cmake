# Several autoscaler replicas: who holds which bucket, and what is handed over.
sluice_test(lease_election_test LABEL simulation
  SOURCES unit/autoscaler/core/lease_election_test.cpp unit/autoscaler/core/lease_world_test.cpp
  DEPS sluice::autoscaler_core)
sluice_test(hand_over_test
  SOURCES unit/autoscaler/core/hand_over_state_test.cpp unit/common/proto/hand_over_codec_test.cpp
  DEPS sluice::autoscaler_core sluice::hand_over_codec)
sluice_test(hand_over_io_test
  SOURCES unit/autoscaler/io/hand_over_test.cpp
  DEPS sluice::autoscaler_ha sluice::autoscaler_io sluice::hand_over_codec sluice::rpc)
sluice_test(bucket_leases_test
  SOURCES unit/autoscaler/kubernetes/io/bucket_leases_test.cpp unit/common/kube/fake_api.cpp
  DEPS sluice::autoscaler_leases sluice::kube sluice::tls nlohmann_json::nlohmann_json)
