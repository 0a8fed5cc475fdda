sluice_library(engine
  SOURCES local/callers.cpp local/latency.cpp local/documents.cpp local/revision.cpp
    local/revision_memory.cpp local/revision_reports.cpp local/service.cpp local/spec_sources.cpp local/spec_difference.cpp
    local/init_notify.cpp local/scale_loop.cpp local/engine.cpp local/engine_routes.cpp
    local/engine_answers.cpp local/engine_metrics.cpp local/demo_app.cpp local/run_engine.cpp
  HEADERS local/callers.h local/latency.h local/documents.h local/platform.h local/revision.h
    local/scale_loop.h local/service.h local/spec_sources.h local/spec_difference.h local/init_notify.h
    local/engine.h local/demo_app.h local/run_engine.h
  DEPS sluice::activator_io sluice::autoscaler_loop sluice::autoscaler_documents sluice::memory_pressure sluice::process sluice::service_spec
    sluice::engine_api sluice::api_server sluice::history sluice::log sluice::stat_codec
    nlohmann_json::nlohmann_json
  PRIVATE_DEPS sluice::view fmt::fmt prometheus-cpp::core)
if(TARGET sluice::commands AND TARGET sluice::loadgen)
  sluice_program(sluice SOURCES main.cpp DEPS sluice::engine sluice::commands sluice::loadgen)
endif()
