# Real clients and servers that the tests of the sidecar start: processes of their own, never under a
# sanitizer, since the libraries they link are not built with one.
find_program(SLUICE_GRPC_PLUGIN grpc_cpp_plugin)
find_library(SLUICE_GRPCPP grpc++)
find_library(SLUICE_GRPC grpc)
find_library(SLUICE_GPR gpr)
find_library(SLUICE_ABSL_MUTEX absl_synchronization)  # in the headers that are generated

function(sluice_peer name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_options(${name} PRIVATE -fno-sanitize=all ${test_options})
  target_link_options(${name} PRIVATE -fno-sanitize=all)
  target_link_libraries(${name} PRIVATE Threads::Threads)
endfunction()

sluice_peer(websocket_peer peers/websocket_peer.cpp)
target_link_libraries(websocket_peer PRIVATE sluice::warnings)

if(SLUICE_GRPC_PLUGIN AND SLUICE_GRPCPP AND SLUICE_GRPC AND SLUICE_GPR AND SLUICE_ABSL_MUTEX)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/peers)
  set(stem ${made}/tests/peers/echo)
  file(MAKE_DIRECTORY ${made})
  add_custom_command(
    OUTPUT ${stem}.pb.cc ${stem}.pb.h ${stem}.grpc.pb.cc ${stem}.grpc.pb.h
    COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR} --cpp_out=${made}
            --grpc_out=${made} --plugin=protoc-gen-grpc=${SLUICE_GRPC_PLUGIN} tests/peers/echo.proto
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DEPENDS peers/echo.proto VERBATIM)
  sluice_peer(grpc_peer peers/grpc_peer.cpp ${stem}.pb.cc ${stem}.grpc.pb.cc)
  # Generated code is not ours to warn about.
  target_include_directories(grpc_peer SYSTEM PRIVATE ${made})
  target_link_libraries(grpc_peer PRIVATE ${SLUICE_GRPCPP} ${SLUICE_GRPC} ${SLUICE_GPR} ${SLUICE_ABSL_MUTEX}
                        protobuf::libprotobuf)
endif()
