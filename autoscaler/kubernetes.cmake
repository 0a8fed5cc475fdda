# The autoscaler on Kubernetes: plans that are pure, and the watches and writes around them.
# The plans use the orders that the autoscaler gives a platform, which are values too.
set(kubernetes_cores activator_ports enrolment_pace event_log ownership_index probe_book scale_plan
  scaler_conditions selector_index service_plan slice_plan work_queue write_ledger)
list(TRANSFORM kubernetes_cores PREPEND kubernetes/core/)
set(kubernetes_core_sources ${kubernetes_cores})
list(TRANSFORM kubernetes_core_sources APPEND .cpp)
set(kubernetes_core_headers ${kubernetes_cores})
list(TRANSFORM kubernetes_core_headers APPEND .h)
sluice_library(autoscaler_kubernetes_core CORE
  SOURCES ${kubernetes_core_sources}
  HEADERS ${kubernetes_core_headers} kubernetes/core/trouble.h
  DEPS sluice::scale_order sluice::kube_core sluice::kube_objects sluice::ring)
# What is written, as requests, and one write of each object at a time.
sluice_library(autoscaler_kubernetes_writes
  SOURCES kubernetes/io/documents.cpp kubernetes/io/object_writer.cpp
  HEADERS kubernetes/io/documents.h kubernetes/io/object_writer.h
  DEPS sluice::autoscaler_kubernetes_core sluice::kube sluice::clock
  PRIVATE_DEPS nlohmann_json::nlohmann_json)
# A pod as the autoscaler knows it.
sluice_library(autoscaler_watched_pod SOURCES kubernetes/io/watched_pod.cpp
  HEADERS kubernetes/io/watched_pod.h
  DEPS sluice::autoscaler_io sluice::kube_objects sluice::net)
include(knative.cmake)
sluice_library(autoscaler_kubernetes
  SOURCES kubernetes/io/activator_probes.cpp kubernetes/io/cluster_view.cpp kubernetes/io/enrolment.cpp
    kubernetes/io/kubernetes_platform.cpp kubernetes/io/plain_activators.cpp kubernetes/io/reconciler.cpp kubernetes/io/stream_certificates.cpp kubernetes/io/scaler_sight.cpp
  HEADERS kubernetes/io/activator_probes.h kubernetes/io/cluster_view.h
    kubernetes/io/enrolment.h kubernetes/io/governed_scaler.h kubernetes/io/kubernetes_platform.h kubernetes/io/plain_activators.h kubernetes/io/reconciler.h kubernetes/io/scaler_sight.h kubernetes/io/stream_certificates.h
  DEPS sluice::autoscaler_io sluice::certificate_keeper sluice::autoscaler_kubernetes_core sluice::autoscaler_kubernetes_writes
    sluice::autoscaler_knative sluice::autoscaler_watched_pod sluice::kube sluice::metrics_server sluice::tls
  PRIVATE_DEPS sluice::enrolment_text sluice::files sluice::json_depth nlohmann_json::nlohmann_json)
