# sluice/local without the engine itself: what a service is, and the processes that run it.
sluice_library(service_spec
  HEADERS local/quantity.h local/service_spec.h local/engine_host.h local/engine_settings.h local/container_parser.h
          local/yaml_reader.h
  SOURCES local/quantity.cpp local/service_spec.cpp local/service_parser.cpp
          local/container_parser.cpp local/service_writer.cpp local/engine_settings.cpp
          local/yaml_reader.cpp
  DEPS    sluice::base sluice::time_core yaml-cpp
  PRIVATE_DEPS sluice::autoscaler_core fmt::fmt)

sluice_library(start_backoff CORE
  HEADERS local/backoff.h SOURCES local/backoff.cpp DEPS sluice::time_core)

sluice_library(process
  HEADERS local/unique_fd.h local/proc_files.h local/child.h local/ports.h local/listeners.h local/listen_diag.h
          local/sidecar.h local/output_reader.h local/service_log.h local/replica_journal.h
          local/cgroup.h local/group_memory.h local/replica.h
  SOURCES local/proc_files.cpp local/child.cpp local/reaper.cpp local/ports.cpp
          local/listeners.cpp local/listen_diag.cpp local/sidecar.cpp local/sidecar_probe.cpp local/output_reader.cpp
          local/service_log.cpp local/replica_journal.cpp local/cgroup.cpp local/cgroup_quota.cpp
          local/group_memory.cpp local/replica.cpp
  DEPS    sluice::base sluice::time_core sluice::clock sluice::service_spec sluice::start_backoff
          sluice::node_agent_core Boost::headers Threads::Threads
  PRIVATE_DEPS sluice::node_agent_kernel fmt::fmt nlohmann_json::nlohmann_json)

# The memory rules of the node agent with the replicas of an engine as its containers.
sluice_library(memory_rules CORE
  HEADERS local/memory_rules.h SOURCES local/memory_rules.cpp DEPS sluice::node_agent_core)
sluice_library(memory_pressure
  HEADERS local/machine_memory.h local/memory_pressure.h
  SOURCES local/machine_memory.cpp local/memory_pressure.cpp
  DEPS    sluice::memory_rules sluice::node_agent_kernel sluice::process sluice::clock sluice::log
          Boost::headers
  PRIVATE_DEPS fmt::fmt)
