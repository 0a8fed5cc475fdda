sluice_library(load CORE
  HEADERS load/request_stats.h
  SOURCES load/request_stats.cpp
  DEPS    sluice::time_core
  PRIVATE_DEPS sluice::exact_floats)

sluice_library(breaker CORE
  HEADERS breaker/breaker.h breaker/wait_list.h
  SOURCES breaker/breaker.cpp
  DEPS    sluice::base sluice::time_core)
