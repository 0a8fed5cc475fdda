# What people and programs see of an engine: its API and history, the terminal view, the verbs.
sluice_library(engine_api
  HEADERS local/engine_api.h local/event_ring.h local/paths.h local/time_text.h
  SOURCES local/engine_api.cpp local/event_ring.cpp local/paths.cpp
  DEPS sluice::autoscaler_documents sluice::base sluice::time_core nlohmann_json::nlohmann_json Boost::headers)

# Who may do what through the front door: values in, a verdict out.
sluice_library(door_access
  HEADERS local/door_access.h
  SOURCES local/door_access.cpp
  DEPS sluice::engine_api
  PRIVATE_DEPS sluice::activator_core sluice::http sluice::service_spec)

sluice_library(api_server
  HEADERS local/api_routes.h local/api_server.h
  SOURCES local/api_routes.cpp local/api_server.cpp
  DEPS sluice::door_access sluice::engine_api sluice::clock Boost::headers Threads::Threads)

sluice_library(history
  HEADERS local/history.h
  SOURCES local/history.cpp
  DEPS sluice::base sluice::time_core nlohmann_json::nlohmann_json
  PRIVATE_DEPS SQLite::SQLite3 Threads::Threads)

sluice_library(view
  HEADERS view/banner.h view/event_printer.h view/explain_text.h view/fields.h
          view/live_session.h view/live_view.h view/tables.h view/terminal.h
  SOURCES view/banner.cpp view/event_printer.cpp view/explain_text.cpp view/fields.cpp
          view/live_session.cpp view/live_view.cpp view/tables.cpp view/terminal.cpp
  DEPS sluice::engine_api nlohmann_json::nlohmann_json Boost::headers Threads::Threads
  PRIVATE_DEPS fmt::fmt)

include(install.cmake)
# What can be replaced of a Knative, judged from values; the rules of config-autoscaler are the
# autoscaler's own.
sluice_library(doctor_knative SOURCES commands/doctor_knative.cpp commands/doctor_knative_changes.cpp
  HEADERS commands/doctor_knative.h commands/doctor_knative_changes.h
  DEPS sluice::kube_objects sluice::knative_contract PRIVATE_DEPS sluice::autoscaler_core sluice::request_log)
sluice_library(commands
  HEADERS commands/api_client.h commands/commands.h commands/detach.h commands/inject_yaml.h commands/up.h
          commands/up_options.h commands/usage.h commands/verb.h commands/verbs.h
  SOURCES commands/api_client.cpp commands/apply.cpp commands/commands.cpp commands/delete.cpp
          commands/detach.cpp commands/doctor.cpp commands/doctor_knative_cluster.cpp commands/down.cpp commands/explain.cpp
          commands/get.cpp commands/history.cpp commands/inject.cpp commands/inject_difference.cpp
          commands/inject_yaml.cpp commands/install_verbs.cpp commands/logs.cpp commands/scale.cpp
          commands/sleep.cpp commands/top.cpp commands/up.cpp commands/usage.cpp
          commands/verb.cpp commands/version.cpp commands/wake.cpp
  DEPS sluice::engine_api sluice::clock nlohmann_json::nlohmann_json
  PRIVATE_DEPS sluice::doctor_knative sluice::kube sluice::log sluice::settings sluice::pod_patch sluice::view sluice::installation sluice::service_spec sluice::memory_pressure sluice::process
               CLI11::CLI11 yaml-cpp
               Boost::headers Threads::Threads
  PRECOMPILED <CLI/CLI.hpp> <nlohmann/json.hpp>)
