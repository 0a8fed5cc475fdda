sluice_test(common_core_test
  SOURCES unit/common/breaker/breaker_test.cpp unit/common/load/request_stats_test.cpp
  DEPS    sluice::breaker sluice::load)

sluice_test(activator_core_test
  SOURCES unit/activator/core/balancer_test.cpp unit/activator/core/queue_budget_test.cpp
          unit/activator/core/request_reporter_test.cpp unit/activator/core/revision_table_test.cpp
          unit/activator/core/throttler_test.cpp unit/activator/core/throttler_walk_test.cpp
  DEPS    sluice::activator_core)
