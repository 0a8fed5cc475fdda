# Several replicas: stats that are passed on among them, and their leases.
sluice_library(autoscaler_ha
  SOURCES io/holder_socket.cpp io/stat_forwarder.cpp
  HEADERS io/holder_socket.h io/stat_forwarder.h
  DEPS sluice::autoscaler_core sluice::clock sluice::log sluice::messages sluice::net
  PRIVATE_DEPS sluice::stat_messages_codec)
sluice_library(autoscaler_leases
  SOURCES kubernetes/io/lease_json.cpp kubernetes/io/bucket_leases.cpp
  HEADERS kubernetes/io/lease_json.h kubernetes/io/bucket_leases.h
  DEPS sluice::autoscaler_core sluice::clock sluice::kube sluice::log
  PRIVATE_DEPS sluice::kube_objects nlohmann_json::nlohmann_json)
