#pragma once

#include "memory-pressure/core/journal_record.h"
#include "memory-pressure/core/node.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// A running container that has one of our quotas although no record has its original, or one of a
/// Job that is frozen although no record says so: no other program freezes those.
struct Stray {
  std::string id;
  CpuQuota original{};   ///< as far as known: that of its pod
  std::string cgroup{};  ///< not empty: it is frozen there, rather than throttled
};

/// How often a lease is renewed within its length, in the journal and towards the guardian.
inline constexpr int kRenewalsPerLease = 3;

/// The last word of a process that held what the journal lists.
struct Lease {
  std::string by;  ///< its process id
  TimePoint
      until;  ///< it is responsible until then; later any agent that finds a throttle releases it

  friend bool operator==(const Lease&, const Lease&) = default;
};

/// What a start finds in the journal of the run before (memory-pressure.md 5.7; rows 26 to 30).
struct Recovery {
  std::vector<JournalRecord> ours;  ///< still throttled by us: to be kept or given back
  std::vector<Stray> strays;        ///< to be given back
  /// Given back already, or changed by another program: nothing to do, but a call that the earlier
  /// run had in flight may still take effect. `original` is what the kernel shows.
  std::vector<JournalRecord> watched;
  /// Frozen by us, to be thawed in this order: the oldest container first. Also those that the
  /// runtime does not list: `cgroup` is enough to thaw them.
  std::vector<JournalRecord> frozen;
  std::vector<std::string> forgotten;   ///< gone
  std::vector<std::string> sacrificed;  ///< stopped by us: their exit 137 is not an OOM
  std::optional<Lease> lease;           ///< the newest; absent: there was none
  std::uint64_t generation = 0;         ///< the highest seen
  std::size_t skipped_lines = 0;        ///< broken, or of another boot
};

/// Compares `journal`, the whole file, with what runs. Records of another boot than `boot_id` are
/// void: no quota outlives the kernel. A torn or altered line is skipped, and the quotas themselves
/// tell what it would have said.
[[nodiscard]] Recovery recover(std::string_view journal, std::string_view boot_id,
                               const Observation& seen);

/// What a container with a quota of ours and no record shall have: its pod's limit, if that has
/// one, else none.
[[nodiscard]] CpuQuota stray_original(const Container& container);

}  // namespace sluice::node_agent
