sluice_test(h2_memory_test
  SOURCES unit/common/net/h2_memory_test.cpp unit/common/net/h2_past_streams_test.cpp
  DEPS sluice::net)
