# The drop-in for an installed Knative: what is planned for its PodAutoscalers, the watches and writes
# around that, and the way on for stats of revisions that are not ours.
sluice_library(autoscaler_knative_core CORE
  SOURCES kubernetes/knative/core/pod_autoscaler_plan.cpp kubernetes/knative/core/shadow_book.cpp
  HEADERS kubernetes/knative/core/knative_objects.h kubernetes/knative/core/pod_autoscaler_plan.h
    kubernetes/knative/core/shadow_book.h
  DEPS sluice::scale_order sluice::autoscaler_core sluice::kube_objects)
sluice_library(autoscaler_knative
  SOURCES kubernetes/knative/io/knative_json.cpp kubernetes/knative/io/knative_scalers.cpp
    kubernetes/knative/io/knative_view.cpp kubernetes/knative/io/public_probe.cpp
    kubernetes/knative/io/stat_relay.cpp
  HEADERS kubernetes/knative/io/knative_json.h kubernetes/knative/io/knative_scalers.h
    kubernetes/knative/io/knative_view.h kubernetes/knative/io/public_probe.h
    kubernetes/knative/io/stat_relay.h
  DEPS sluice::autoscaler_io sluice::autoscaler_ha sluice::autoscaler_knative_core
    sluice::autoscaler_kubernetes_core sluice::autoscaler_kubernetes_writes sluice::autoscaler_watched_pod
    sluice::kube sluice::kube_objects
  PRIVATE_DEPS nlohmann_json::nlohmann_json)
