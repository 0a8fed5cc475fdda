# What the autoscaler is made of beside its core: the platform's two faces, the loop that scales, the
# doors for activators and people.
# How decisions and times read in JSON; the engine of one machine shows them the same.
sluice_library(autoscaler_documents SOURCES io/decision_json.cpp io/time_text.cpp
  HEADERS io/decision_json.h io/time_text.h
  DEPS sluice::autoscaler_core nlohmann_json::nlohmann_json)
sluice_library(removals CORE SOURCES core/node_book.cpp core/removals.cpp
  HEADERS core/node_book.h core/removals.h
  DEPS sluice::base sluice::node_stream_messages sluice::time_core)
# What platforms are told to make true.
sluice_library(scale_order CORE HEADERS core/scale_order.h DEPS sluice::autoscaler_core)
# The timer and the scraper; the engine of one machine has the same.
sluice_library(autoscaler_loop SOURCES io/scale_loop.cpp io/stat_scraper.cpp
  HEADERS io/scale_loop.h io/stat_scraper.h
  DEPS sluice::autoscaler_core sluice::clock sluice::net PRIVATE_DEPS sluice::stat_codec)
sluice_library(autoscaler_io
  SOURCES io/activator_streams.cpp io/api.cpp io/api_text.cpp io/decision_ring.cpp
    io/directory_platform.cpp io/fleet.cpp io/fleet_metrics.cpp io/health_page.cpp io/node_streams.cpp io/refusals.cpp io/revision.cpp
    io/stat_socket.cpp io/status_json.cpp
  HEADERS io/activator_streams.h io/api.h io/api_text.h io/decision_ring.h io/directory_platform.h
    io/fleet.h io/fleet_metrics.h io/health_page.h io/node_streams.h io/platform.h io/refusals.h io/pod_watch.h io/revision.h
    io/scale_sink.h
    io/stat_socket.h
  DEPS sluice::autoscaler_loop sluice::scale_order sluice::removals sluice::autoscaler_documents sluice::files
    sluice::messages sluice::net sluice::metrics_server sluice::log sluice::rpc
    nlohmann_json::nlohmann_json
  PRIVATE_DEPS sluice::activator_stream_codec sluice::node_stream_codec
    sluice::stat_messages_codec)
include(kubernetes.cmake)
# Several replicas share the revisions of a cluster.
sluice_library(autoscaler_share SOURCES kubernetes/io/bucket_share.cpp
  HEADERS kubernetes/io/bucket_share.h
  DEPS sluice::autoscaler_io sluice::autoscaler_ha sluice::autoscaler_leases sluice::kube
  PRIVATE_DEPS sluice::kube_objects)
sluice_library(autoscaler_app SOURCES app.cpp config.cpp HEADERS app.h config.h
  DEPS sluice::autoscaler_io sluice::autoscaler_kubernetes sluice::autoscaler_share sluice::end_signals sluice::log_level sluice::settings)
sluice_program(autoscaler SOURCES main.cpp DEPS sluice::autoscaler_app sluice::command_line)
