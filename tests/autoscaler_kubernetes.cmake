# What the autoscaler plans to write on Kubernetes. That it writes so is shown on a real API server,
# by tests/kubernetes.
set(kubernetes_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/autoscaler/kubernetes)
sluice_test(autoscaler_kubernetes_core_test
  SOURCES ${kubernetes_tests}/core/activator_ports_test.cpp
          ${kubernetes_tests}/core/enrolment_pace_test.cpp
          ${kubernetes_tests}/core/ownership_index_test.cpp ${kubernetes_tests}/core/event_log_test.cpp
          ${kubernetes_tests}/core/probe_book_test.cpp ${kubernetes_tests}/core/scale_plan_test.cpp
          ${kubernetes_tests}/core/scaler_conditions_test.cpp
          ${kubernetes_tests}/core/selector_index_test.cpp
          ${kubernetes_tests}/core/service_plan_test.cpp ${kubernetes_tests}/core/slice_plan_test.cpp
          ${kubernetes_tests}/core/work_queue_test.cpp ${kubernetes_tests}/core/write_ledger_test.cpp
  DEPS    sluice::autoscaler_kubernetes_core)
sluice_test(autoscaler_kubernetes_io_test
  SOURCES ${kubernetes_tests}/io/cluster_view_test.cpp ${kubernetes_tests}/io/documents_test.cpp
          ${kubernetes_tests}/io/kubernetes_platform_test.cpp
          ${kubernetes_tests}/io/object_writer_test.cpp ${kubernetes_tests}/io/reconciler_test.cpp
          ${kubernetes_tests}/io/reconciler_writes_test.cpp
          ${kubernetes_tests}/io/scaler_sight_test.cpp
          ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/kube/fake_api.cpp
  DEPS    sluice::autoscaler_kubernetes sluice::tls nlohmann_json::nlohmann_json)
