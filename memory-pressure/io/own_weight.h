#pragma once

#include <string>

namespace sluice::node_agent {

/// Gives this process precedence where the CPU is short, as far as it may: a hold that comes late
/// is none. Its threads, and the processes it starts, have it as well.
void raise_own_priority();

/// Gives the control group of this program, if no other process is in it, ten times the usual share
/// of the CPU. Whether it has it now. `root` as for find_cgroup_mounts.
bool raise_own_weight(const std::string& root = {});

}  // namespace sluice::node_agent
