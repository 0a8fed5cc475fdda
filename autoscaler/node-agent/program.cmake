# The node agent's senses and hands: the container runtime, control groups, the journal, the doors.
sluice_library(node_agent_io
  SOURCES node-agent/io/agent_metrics.cpp node-agent/io/agent_page.cpp
          node-agent/io/container_events.cpp node-agent/io/container_watch.cpp node-agent/io/control_loop.cpp
          node-agent/io/cri_client.cpp node-agent/io/enrolment.cpp node-agent/io/guardian.cpp node-agent/io/hand.cpp
          node-agent/io/journal_file.cpp node-agent/io/pod_marks.cpp
          node-agent/io/psi_trigger.cpp node-agent/io/report_stream.cpp
          node-agent/io/restoration.cpp node-agent/io/state_lock.cpp
          node-agent/io/status_client.cpp node-agent/io/status_text.cpp
  HEADERS node-agent/io/agent_metrics.h node-agent/io/agent_page.h
          node-agent/io/container_events.h node-agent/io/container_watch.h node-agent/io/control_loop.h
          node-agent/io/cri_client.h node-agent/io/enrolment.h node-agent/io/guardian.h node-agent/io/hand.h
          node-agent/io/journal_file.h node-agent/io/pod_marks.h
          node-agent/io/psi_trigger.h node-agent/io/report_stream.h
          node-agent/io/restoration.h node-agent/io/state_lock.h
          node-agent/io/status_client.h node-agent/io/status_text.h
  DEPS sluice::node_agent_core sluice::node_agent_kernel sluice::clock sluice::cri_messages
       sluice::log sluice::metrics_server sluice::net sluice::node_stream_messages sluice::rpc
       sluice::certificates sluice::rpc_unary sluice::tls_client Boost::headers
  PRIVATE_DEPS sluice::enrolment_text sluice::files sluice::cri_codec sluice::node_stream_codec nlohmann_json::nlohmann_json)
sluice_library(node_agent_app SOURCES node-agent/app.cpp node-agent/config.cpp
  HEADERS node-agent/app.h node-agent/config.h
  DEPS sluice::node_agent_io sluice::end_signals sluice::log_level sluice::settings PRIVATE_DEPS CLI11::CLI11)
sluice_program(node-agent SOURCES node-agent/main.cpp DEPS sluice::node_agent_app)
