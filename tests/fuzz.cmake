# Fuzz targets. Ordinary builds replay each corpus as a unit test; with -DSLUICE_FUZZ=ON and clang
# (tests/fuzz/run) the same sources become libFuzzer programs.
option(SLUICE_FUZZ "Build the fuzz targets with libFuzzer (clang)" OFF)
function(sluice_fuzz name)
  add_executable(${name}_fuzz fuzz/${name}_fuzz.cpp)
  set_target_properties(${name}_fuzz PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name}_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name}_fuzz PRIVATE sluice::warnings ${ARGN})
  if(SLUICE_FUZZ)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name}_fuzz PRIVATE fuzz/replay_main.cpp)
    add_test(NAME ${name}_corpus
      COMMAND ${name}_fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    set_tests_properties(${name}_corpus PROPERTIES LABELS unit TIMEOUT 60)
  endif()
endfunction()

sluice_fuzz(h1_request sluice::h1_codec)
sluice_fuzz(h1_response sluice::h1_codec)
sluice_fuzz(chunked_body sluice::h1_codec)
sluice_fuzz(header_rules sluice::h1_codec)
sluice_fuzz(h2_session sluice::net)
sluice_fuzz(environment sluice::queue_proxy_app)
sluice_fuzz(stat_messages sluice::stat_messages_codec sluice::autoscaler_core)
sluice_fuzz(activator_stream
  sluice::activator_stream_codec sluice::autoscaler_core sluice::autoscaler_link)
sluice_fuzz(kube_watch
  sluice::kube_core sluice::kube_objects sluice::h1_codec nlohmann_json::nlohmann_json)
