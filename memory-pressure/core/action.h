#pragma once

#include "memory-pressure/core/journal_record.h"
#include "memory-pressure/core/node.h"
#include <cstdint>
#include <string>
#include <variant>

namespace sluice::node_agent {

/// Append and make durable before the first update or stop of the same list; one sync does for
/// neighbours. If that fails, leave out the update or stop of the same container and say so by
/// `Reconciler::journal_failed`.
struct WriteJournal {
  JournalRecord record;
};

/// Both values, always: an update that failed may have changed one of them (memory-pressure.md
/// 0.6).
struct Update {
  std::uint64_t call = 0;
  std::string id{};
  CpuQuota quota{};  ///< -1 or at least 1000 us; never 0, which would be ignored
  std::string why{};
  bool releases = false;  ///< it gives back; else it throttles
  /// Bytes for `memory.high` where the kernel has it (cgroup v2), to be written before the quota;
  /// 0: none of ours, an earlier one of ours is lifted.
  std::int64_t memory_high = 0;
};

/// Hold it in the freezer of the kernel, or let it run on: one write to a file of its control
/// group, no call to the runtime. Answered by `answered`, like an update.
struct Freeze {
  std::uint64_t call = 0;
  std::string id{};
  std::string cgroup{};
  bool frozen = false;  ///< true: hold, false: thaw
  std::string why{};
};

/// Read the quota that the kernel enforces, from the container's cgroup.
struct ReadBack {
  std::uint64_t call = 0;
  std::string id{};
};

struct Stop {
  std::uint64_t call = 0;
  std::string id{};
  Duration grace{};
  std::string why{};
};

/// A message for a person.
struct Alarm {
  std::string id{};
  std::string text;
};

/// What was decided no longer fits: observe and decide at once.
struct LookAgain {};

using Action = std::variant<WriteJournal, Update, Freeze, ReadBack, Stop, Alarm, LookAgain>;

/// How a call to the runtime ended.
enum class Outcome : std::uint8_t {
  ok,
  not_found,    ///< the container is gone
  refused,      ///< by the kernel or the runtime: the same call would be refused again
  timed_out,    ///< may still take effect
  unavailable,  ///< no runtime there
  failed,       ///< any other way; may have had half an effect
};

}  // namespace sluice::node_agent
