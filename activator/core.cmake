sluice_library(activator_core CORE
  HEADERS core/balancer.h core/destinations.h core/pod_line.h core/pod_roster.h
          core/pod_subset.h core/queue_budget.h core/queue_pace.h core/request_reporter.h
          core/revision_name.h core/revision_table.h core/throttler.h core/wait_queue.h
  SOURCES core/balancer.cpp core/destinations.cpp core/pod_line.cpp
          core/pod_roster.cpp core/pod_subset.cpp core/queue_pace.cpp core/request_reporter.cpp
          core/revision_name.cpp core/revision_table.cpp core/throttler.cpp core/wait_queue.cpp
  DEPS    sluice::base sluice::breaker sluice::load sluice::time_core
  PRIVATE_DEPS sluice::exact_floats)
