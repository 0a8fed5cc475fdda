#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/core/quota.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace sluice::node_agent {

/// One container whose quota is in our hands: from the record of its original until the original is
/// seen in the kernel again. Times are the reconciler's own, unless said otherwise.
struct Hold {
  Container container;  ///< the container itself
  CpuQuota original;
  CpuQuota wanted;  ///< `original` while it is being given back
  bool releasing = false;
  std::optional<CpuQuota> journalled;  ///< the last value of ours that was written down

  std::optional<CpuQuota> acknowledged;  ///< in force as of the last answer; else unknown
  bool needs_reading = false;
  bool verified = false;  ///< `acknowledged` was seen in the kernel
  TimePoint answered_at;  ///< by the observations' clock

  std::uint64_t call = 0;  ///< in flight; 0: none
  bool call_reads = false;
  CpuQuota sent;
  TimePoint called_at;

  std::uint32_t failures = 0;
  std::uint32_t refusals = 0;
  TimePoint next_try;
  TimePoint suspect_until;          ///< a call that timed out may take effect until then
  TimePoint watch_until;            ///< a call of the run before may take effect until then
  std::optional<CpuQuota> clamped;  ///< what the pod's limit left of the original
  std::deque<TimePoint> foreign_changes;

  std::size_t rank = 0;  ///< the lower is served first
  TimePoint since;       ///< by the observations' clock
  std::uint32_t ladder_step = 0;
  std::string why;
};

/// What the kernel should hold now.
[[nodiscard]] CpuQuota target(const Hold& hold);

/// Whether the runtime needs an update. An error leaves nothing acknowledged, so the whole pair is
/// sent again.
[[nodiscard]] bool needs_sending(const Hold& hold);

/// Whether the kernel shows the original again.
[[nodiscard]] bool is_given_back(const Hold& hold);

/// Whether besides nothing can come late any more: it can be forgotten.
[[nodiscard]] bool is_over(const Hold& hold, TimePoint now);

/// Takes note of a value that neither we nor the systemd driver can have made: it is the new
/// original. Returns whether that has happened so often lately that we should leave the container
/// alone.
[[nodiscard]] bool note_foreign_change(Hold& hold, const CpuQuota& in_kernel, TimePoint now);

}  // namespace sluice::node_agent
