sluice_test(sluice_up_test SOURCES unit/sluice/commands/up_test.cpp DEPS sluice::commands)
sluice_test(sluice_view_test SOURCES unit/sluice/view/view_test.cpp DEPS sluice::view)
sluice_test(sluice_state_test SOURCES unit/sluice/api/state_test.cpp
  DEPS sluice::engine_api sluice::history)
