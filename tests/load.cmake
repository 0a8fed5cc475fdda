if(SLUICE_THREADS_ONLY)
  return()
endif()
sluice_test(load_core_test
  SOURCES unit/bench/histogram_test.cpp unit/bench/arrivals_test.cpp unit/bench/expression_test.cpp
          unit/bench/tally_test.cpp unit/bench/report_test.cpp
  DEPS sluice::load_core)
sluice_test(load_io_test
  SOURCES unit/bench/scripted_server.cpp unit/bench/load_run_test.cpp
          unit/bench/engine_watch_test.cpp unit/bench/options_test.cpp unit/bench/run_load_test.cpp
  DEPS sluice::loadgen Boost::headers Threads::Threads
  LABEL integration)
