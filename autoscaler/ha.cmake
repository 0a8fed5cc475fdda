# Several replicas: what is handed over and passed on among them, and their leases.
sluice_library(autoscaler_ha
  SOURCES io/hand_over.cpp io/hand_over_door.cpp io/holder_socket.cpp io/stat_forwarder.cpp
  HEADERS io/hand_over.h io/hand_over_door.h io/holder_socket.h io/stat_forwarder.h
  DEPS sluice::autoscaler_core sluice::clock sluice::log sluice::messages sluice::net sluice::rpc
  PRIVATE_DEPS sluice::hand_over_codec sluice::stat_messages_codec)
sluice_library(autoscaler_leases
  SOURCES kubernetes/io/lease_json.cpp kubernetes/io/bucket_leases.cpp
  HEADERS kubernetes/io/lease_json.h kubernetes/io/bucket_leases.h
  DEPS sluice::autoscaler_core sluice::clock sluice::kube sluice::log
  PRIVATE_DEPS sluice::kube_objects nlohmann_json::nlohmann_json)
