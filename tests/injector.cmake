# The injection of the sidecar: its rules, `sluice inject`, the webhook.
set(injector_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/queue-proxy/injector)
sluice_test(pod_patch_test
  SOURCES ${injector_tests}/pods.cpp ${injector_tests}/pod_patch_test.cpp
          ${injector_tests}/refusal_test.cpp ${injector_tests}/manifest_test.cpp
          ${injector_tests}/admission_test.cpp
  DEPS sluice::pod_patch sluice::queue_proxy_app)
if(TARGET sluice_injector_certificates)
  sluice_test(certificate_test
    SOURCES unit/common/certificates/certificates_test.cpp unit/common/certificates/enrolment_text_test.cpp unit/common/certificates/identity_test.cpp
            ${injector_tests}/webhook_bundle_test.cpp
    DEPS sluice::enrolment_text sluice::h1_codec sluice::injector_certificates sluice::certificate_keeper)
  sluice_test(webhook_door_test SOURCES ${injector_tests}/webhook_door_test.cpp
    DEPS sluice::webhook_door sluice::injector_certificates sluice::openssl)
  sluice_test(injector_keeper_test
    SOURCES ${injector_tests}/certificate_keeper_test.cpp
            ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/kube/fake_api.cpp
    DEPS sluice::injector_app)
endif()
if(NOT SLUICE_THREADS_ONLY)
  sluice_test(inject_verb_test SOURCES unit/sluice/commands/inject_test.cpp
    DEPS sluice::commands nlohmann_json::nlohmann_json)
endif()
