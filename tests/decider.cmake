sluice_test(autoscaler_core_test
  SOURCES unit/autoscaler/core/annotations_test.cpp unit/autoscaler/core/attention_test.cpp
          unit/autoscaler/core/buckets_test.cpp
          unit/autoscaler/core/cluster_config_test.cpp unit/autoscaler/core/collector_test.cpp
          unit/autoscaler/core/decider_test.cpp unit/autoscaler/core/decision_record_test.cpp
          unit/autoscaler/core/go_syntax_test.cpp unit/common/ring/hash_ring_test.cpp
          unit/autoscaler/core/measured_decider_test.cpp
          unit/autoscaler/core/metric_health_test.cpp
          unit/autoscaler/core/multi_scaler_test.cpp unit/autoscaler/core/pods_test.cpp
          unit/autoscaler/core/refusal_notes_test.cpp unit/autoscaler/core/rejections_test.cpp
          unit/autoscaler/core/revision_gaps_test.cpp unit/autoscaler/core/revision_scaler_test.cpp
          unit/autoscaler/core/revision_world.cpp unit/autoscaler/core/saved_state_test.cpp
          unit/autoscaler/core/scale_to_zero_test.cpp
          unit/autoscaler/core/scrape_test.cpp
          unit/autoscaler/core/serverless_service_test.cpp
          unit/autoscaler/core/stat_forwarding_test.cpp unit/autoscaler/core/stat_intake_test.cpp
          unit/autoscaler/core/tick_wheel_test.cpp unit/autoscaler/core/window_average_test.cpp
          unit/autoscaler/core/window_max_test.cpp unit/autoscaler/core/worked_example_test.cpp
  DEPS sluice::autoscaler_core)
# The worked example of the README is played and compared with the page.
set_source_files_properties(unit/autoscaler/core/worked_example_test.cpp PROPERTIES
  COMPILE_DEFINITIONS AUTOSCALER_README="${PROJECT_SOURCE_DIR}/autoscaler/README.md")
sluice_test(decision_vectors_test
  SOURCES unit/autoscaler/vectors/runner_test.cpp
  DEPS sluice::decision_vectors)

add_test(NAME decision_vectors
  COMMAND decision-vectors ${PROJECT_SOURCE_DIR}/tests/vectors)
set_tests_properties(decision_vectors PROPERTIES LABELS vectors TIMEOUT 300)
