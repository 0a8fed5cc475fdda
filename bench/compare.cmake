# The part of bench/compare/activator.py that Python is too slow for.
add_executable(held compare/held/main.cpp compare/held/app.cpp compare/held/h1_clients.cpp
  compare/held/h2_clients.cpp)
set_target_properties(held PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_libraries(held PRIVATE sluice::net sluice::nghttp2 sluice::warnings)
