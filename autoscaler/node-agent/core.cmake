# The memory-pressure hook's decisions: what is seen in, what is wanted out. No runtime, no cgroup.
sluice_library(node_agent_core CORE
  SOURCES node-agent/core/evictions.cpp node-agent/core/exemptions.cpp
          node-agent/core/exit_cause.cpp node-agent/core/floors.cpp
          node-agent/core/growth.cpp node-agent/core/headroom_policy.cpp node-agent/core/hold.cpp
          node-agent/core/journal_record.cpp node-agent/core/ladder.cpp
          node-agent/core/off_policy.cpp node-agent/core/paper_policy.cpp
          node-agent/core/pauses.cpp node-agent/core/quota.cpp node-agent/core/reconciler.cpp
          node-agent/core/reconciler_answers.cpp node-agent/core/recovery.cpp
          node-agent/core/resident.cpp node-agent/core/sacrifices.cpp node-agent/core/settings.cpp
          node-agent/core/situation.cpp node-agent/core/start_gate.cpp
          node-agent/core/threshold.cpp node-agent/core/turn_order.cpp
  HEADERS node-agent/core/action.h node-agent/core/evictions.h
          node-agent/core/exemptions.h node-agent/core/exit_cause.h
          node-agent/core/floors.h node-agent/core/growth.h node-agent/core/headroom_policy.h
          node-agent/core/hold.h node-agent/core/journal_record.h node-agent/core/ladder.h
          node-agent/core/node.h node-agent/core/off_policy.h node-agent/core/own_time.h
          node-agent/core/paper_policy.h node-agent/core/pauses.h node-agent/core/policy.h
          node-agent/core/quota.h node-agent/core/reconciler.h node-agent/core/recovery.h
          node-agent/core/resident.h node-agent/core/sacrifices.h node-agent/core/settings.h
          node-agent/core/situation.h node-agent/core/start_gate.h node-agent/core/threshold.h
          node-agent/core/turn_order.h
  DEPS sluice::base sluice::time_core
  PRIVATE_DEPS sluice::exact_floats)
