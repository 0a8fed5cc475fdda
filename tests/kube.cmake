# The Kubernetes client against a fake API server of its own, what it is made of, and a program that
# tests on a real API server follow collections with.
set(kube_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/kube)
sluice_test(kube_objects_test
  SOURCES ${kube_tests}/objects_test.cpp ${kube_tests}/core_test.cpp
  DEPS sluice::kube_objects sluice::kube_core)
sluice_test(kube_client_test
  SOURCES ${kube_tests}/access_test.cpp ${kube_tests}/client_test.cpp
          ${kube_tests}/group_presence_test.cpp ${kube_tests}/reflector_test.cpp
          ${kube_tests}/fake_api.cpp
          ${CMAKE_CURRENT_SOURCE_DIR}/unit/common/net/tls_peer.cpp
  DEPS sluice::kube sluice::tls sluice::openssl)
add_executable(kube_probe support/kube_probe.cpp)
set_target_properties(kube_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(kube_probe PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(kube_probe PRIVATE sluice::warnings sluice::kube)
