sluice_test(sluice_state_test SOURCES unit/sluice/api/state_test.cpp
  DEPS sluice::engine_api sluice::history)
if(NOT SLUICE_THREADS_ONLY)
  sluice_test(sluice_up_test SOURCES unit/sluice/commands/up_test.cpp DEPS sluice::commands)
  sluice_test(sluice_view_test SOURCES unit/sluice/view/view_test.cpp DEPS sluice::view)
  sluice_test(door_access_test SOURCES unit/sluice/api/door_access_test.cpp
    DEPS sluice::door_access)
  sluice_test(api_server_test LABEL integration
    SOURCES unit/sluice/api/api_proof_test.cpp unit/sluice/api/api_server_test.cpp
    DEPS sluice::api_server)
endif()
