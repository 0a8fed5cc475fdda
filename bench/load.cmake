sluice_library(load_core CORE
  SOURCES load/core/histogram.cpp load/core/quantity.cpp load/core/arrivals.cpp load/core/target.cpp
          load/core/expression.cpp load/core/load_plan.cpp load/core/tally.cpp
          load/core/replica_track.cpp load/core/report.cpp load/core/report_text.cpp
  HEADERS load/core/histogram.h load/core/quantity.h load/core/arrivals.h load/core/target.h
          load/core/expression.h load/core/load_plan.h load/core/tally.h load/core/replica_track.h
          load/core/report.h
  DEPS sluice::base sluice::time_core)
sluice_library(loadgen
  SOURCES load/run_load.cpp load/io/wire_response.cpp load/io/connection.cpp load/io/load_run.cpp
          load/io/request_head.cpp load/io/engine_events.cpp load/io/engine_watch.cpp
          load/io/options.cpp load/io/report_json.cpp load/io/machine.cpp
  HEADERS load/run_load.h load/io/wire_response.h load/io/connection.h load/io/load_run.h
          load/io/engine_events.h load/io/engine_watch.h load/io/options.h load/io/report_json.h
          load/io/machine.h
  DEPS sluice::load_core sluice::clock
  PRIVATE_DEPS Boost::headers nlohmann_json::nlohmann_json CLI11::CLI11 Threads::Threads)
