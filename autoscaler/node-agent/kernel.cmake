# What the kernel tells of memory and of control groups; also read by the engine on one machine.
sluice_library(node_agent_kernel
  SOURCES node-agent/io/cgroup_files.cpp node-agent/io/cgroup_mounts.cpp
          node-agent/io/kernel_file.cpp node-agent/io/memory_sense.cpp
  HEADERS node-agent/io/cgroup_files.h node-agent/io/cgroup_mounts.h
          node-agent/io/kernel_file.h node-agent/io/memory_sense.h
  DEPS sluice::node_agent_core sluice::base)
