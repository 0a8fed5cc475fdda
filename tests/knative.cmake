# The drop-in for an installed Knative: what it plans, and that it asks and writes so, against a fake
# API server. A real Knative is for tests/kubernetes/knative.
set(knative_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/autoscaler/knative)
sluice_test(autoscaler_knative_core_test
  SOURCES ${knative_tests}/core/pod_autoscaler_plan_test.cpp ${knative_tests}/core/shadow_book_test.cpp
  DEPS sluice::autoscaler_knative_core)
sluice_test(autoscaler_knative_io_test
  SOURCES ${knative_tests}/io/knative_json_test.cpp ${knative_tests}/io/knative_scalers_test.cpp
          ${knative_tests}/io/stat_relay_test.cpp
          ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/kube/fake_api.cpp
  DEPS sluice::autoscaler_knative sluice::kube sluice::tls nlohmann_json::nlohmann_json)
if(TARGET sluice::doctor_knative)
  sluice_test(doctor_knative_test SOURCES ${knative_tests}/doctor_knative_test.cpp
    DEPS sluice::doctor_knative)
endif()
# The vectors of a PodAutoscaler's scale, from its documents to what is written.
sluice_test(knative_vectors_test
  SOURCES ${knative_tests}/vectors/reconciler_vectors_test.cpp
          ${knative_tests}/vectors/revision_documents.cpp
  DEPS sluice::autoscaler_kubernetes sluice::autoscaler_knative sluice::decision_vectors
       nlohmann_json::nlohmann_json
  LABEL vectors)
target_compile_definitions(knative_vectors_test PRIVATE VECTORS="${PROJECT_SOURCE_DIR}/tests/vectors")
