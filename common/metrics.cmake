# Prometheus' text format, histograms that cost an addition per value, and who serves them.
sluice_library(metrics CORE SOURCES metrics/exposition.cpp
  HEADERS metrics/exposition.h metrics/histogram.h metrics/millisecond_histogram.h
  DEPS sluice::base sluice::time_core)
sluice_library(metrics_server SOURCES metrics/metrics_server.cpp metrics/process_facts.cpp
  HEADERS metrics/metrics_server.h metrics/process_facts.h net/own_gateway.h
  DEPS sluice::metrics sluice::net)
# The request log: its template, and lines written without waiting for their reader.
sluice_library(request_log CORE SOURCES log/request_log.cpp log/go_text.cpp
  HEADERS log/request_log.h log/go_text.h DEPS sluice::http sluice::time_core)
sluice_library(request_log_sink SOURCES log/request_log_sink.cpp HEADERS log/request_log_sink.h
  DEPS sluice::log sluice::time_core Boost::headers Threads::Threads)
