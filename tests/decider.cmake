sluice_test(autoscaler_core_test
  SOURCES unit/autoscaler/core/annotations_test.cpp unit/autoscaler/core/cluster_config_test.cpp
          unit/autoscaler/core/collector_test.cpp unit/autoscaler/core/decider_test.cpp
          unit/autoscaler/core/decision_record_test.cpp unit/autoscaler/core/go_syntax_test.cpp
          unit/autoscaler/core/revision_scaler_test.cpp unit/autoscaler/core/revision_world.cpp
          unit/autoscaler/core/scale_to_zero_test.cpp
          unit/autoscaler/core/window_average_test.cpp unit/autoscaler/core/window_max_test.cpp
  DEPS sluice::autoscaler_core)
sluice_test(decision_vectors_test
  SOURCES unit/autoscaler/vectors/runner_test.cpp
  DEPS sluice::decision_vectors)

add_test(NAME decision_vectors
  COMMAND decision-vectors ${PROJECT_SOURCE_DIR}/tests/vectors)
set_tests_properties(decision_vectors PROPERTIES LABELS vectors TIMEOUT 300)
