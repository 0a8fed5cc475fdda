# What exists in a cluster, by watches of the activator's own, and the ports of RequestScalers.
sluice_library(activator_cluster CORE
  HEADERS kubernetes/core/cluster_revision.h kubernetes/core/cluster_view.h
          kubernetes/core/door_table.h kubernetes/core/pod_selections.h
          kubernetes/core/replica_slices.h kubernetes/core/service_target.h
  SOURCES kubernetes/core/cluster_view.cpp kubernetes/core/door_table.cpp
          kubernetes/core/pod_selections.cpp kubernetes/core/replica_slices.cpp
          kubernetes/core/service_target.cpp
  DEPS    sluice::base sluice::knative_contract sluice::time_core)
sluice_library(activator_doors
  HEADERS kubernetes/io/scaler_doors.h
  SOURCES kubernetes/io/scaler_doors.cpp
  DEPS    sluice::activator_cluster sluice::activator_io sluice::log)
sluice_library(activator_cluster_objects
  HEADERS kubernetes/io/cluster_objects.h
  SOURCES kubernetes/io/cluster_objects.cpp kubernetes/io/knative_revision.cpp
  DEPS    sluice::activator_cluster sluice::files sluice::ignore_rules sluice::kube_objects
  PRIVATE_DEPS nlohmann_json::nlohmann_json)
sluice_library(activator_platform
  HEADERS kubernetes/io/cluster_metrics.h kubernetes/io/cluster_platform.h
          kubernetes/io/knative_release.h
  SOURCES kubernetes/io/cluster_metrics.cpp kubernetes/io/cluster_platform.cpp
          kubernetes/io/knative_release.cpp
  DEPS    sluice::activator_cluster_objects sluice::activator_doors sluice::kube)
