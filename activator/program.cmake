# The activator as a program of its own. What needs gRPC, files or settings is apart from
# activator_io, which sluice links.
if(TARGET sluice_rpc)
  sluice_library(activator_app
    SOURCES app.cpp config.cpp io/autoscaler_stream.cpp io/knative_link.cpp
      io/pod_tls.cpp io/revision_book.cpp io/status_server.cpp
      io/telemetry.cpp io/wake_watch.cpp
    HEADERS app.h config.h io/autoscaler_peer.h io/autoscaler_stream.h io/knative_link.h
      io/pod_tls.h io/revision_book.h io/status_server.h io/telemetry.h io/wake_watch.h
    DEPS sluice::activator_io sluice::autoscaler_link sluice::activator_stream_codec sluice::stat_messages_codec
      sluice::rpc
      sluice::files sluice::log sluice::request_log sluice::request_log_sink sluice::metrics_server
      sluice::log_level sluice::settings sluice::observability sluice::tls_variables sluice::tls_client
      sluice::serving_tls sluice::end_signals sluice::activator_platform)
  sluice_program(activator SOURCES main.cpp DEPS sluice::activator_app sluice::command_line)
endif()
