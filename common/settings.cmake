# Settings read from the environment, and a TLS listener that follows its files.
sluice_library(settings SOURCES settings/env_reader.cpp HEADERS settings/env_reader.h
  DEPS sluice::net)
sluice_library(log_level SOURCES settings/log_level.cpp HEADERS settings/log_level.h
  DEPS sluice::log sluice::settings)
sluice_library(knative_contract CORE SOURCES settings/knative_contract.cpp
  HEADERS settings/knative_contract.h)
sluice_library(observability SOURCES settings/observability.cpp HEADERS settings/observability.h
  DEPS sluice::settings sluice::knative_contract sluice::request_log PRIVATE_DEPS nlohmann_json::nlohmann_json)
sluice_library(tls_variables SOURCES settings/tls_variables.cpp HEADERS settings/tls_variables.h
  DEPS sluice::settings sluice::tls)
sluice_library(serving_tls SOURCES net/certificate_watch.cpp net/serving_tls.cpp
  HEADERS net/certificate_watch.h net/serving_tls.h DEPS sluice::tls sluice::log)
