sluice_library(activator_core CORE
  HEADERS core/balancer.h core/queue_budget.h core/request_reporter.h core/revision_table.h
          core/throttler.h
  SOURCES core/balancer.cpp core/request_reporter.cpp core/revision_table.cpp core/throttler.cpp
  DEPS    sluice::base sluice::breaker sluice::load sluice::time_core
  PRIVATE_DEPS sluice::exact_floats)
