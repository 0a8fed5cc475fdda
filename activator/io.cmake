sluice_library(activator_io
  SOURCES io/front_gateway.cpp io/front_pods.cpp io/front_probes.cpp io/pod_prober.cpp
    io/pod_probes.cpp
  HEADERS io/front_gateway.h io/front_counts.h io/front_probes.h io/front_state.h io/pod_prober.h
    io/prober_state.h
  DEPS sluice::activator_core sluice::ignore_rules sluice::net sluice::metrics)
