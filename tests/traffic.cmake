sluice_test(common_core_test
  SOURCES unit/common/breaker/breaker_test.cpp unit/common/load/request_stats_test.cpp
  DEPS    sluice::breaker sluice::load)

sluice_test(activator_core_test
  SOURCES unit/activator/core/balancer_test.cpp unit/activator/core/destinations_mesh_test.cpp
          unit/activator/core/destinations_test.cpp
          unit/activator/core/pod_line_test.cpp unit/activator/core/pod_subset_test.cpp
          unit/activator/core/queue_budget_test.cpp unit/activator/core/queue_pace_test.cpp
          unit/activator/core/request_reporter_test.cpp unit/activator/core/revision_name_test.cpp
          unit/activator/core/revision_table_test.cpp unit/activator/core/throttler_queue_test.cpp
          unit/activator/core/throttler_test.cpp unit/activator/core/throttler_walk_test.cpp
          unit/activator/core/wait_queue_test.cpp
  DEPS    sluice::activator_core)
