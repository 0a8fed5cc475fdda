#pragma once

#include "autoscaler/core/decision/collector.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::autoscaler {

/// No pod and no activator has more requests in flight, or per second, than this.
inline constexpr double kStatValueMax = 1e9;

/// Why the figures of a stat are rejected, whichever program sent them.
enum class StatFlaw {
  not_finite,     ///< a NaN or an infinity
  negative,       ///< a figure below 0
  too_large,      ///< a figure above kStatValueMax
  proxied_above,  ///< more came through activators than came at all
};

/// What is wrong with a stat that a pod or an activator sent; absent when it may be recorded. One
/// such figure would govern a revision for a whole window, or spoil its sums permanently.
[[nodiscard]] std::optional<StatFlaw> flaw_of(const Stat& stat);

/// How a pushed stat arrived.
enum class StatDoor {
  stream,     ///< our activators
  websocket,  ///< Knative's activators, or another replica that forwards theirs
};

/// The instant a pushed stat counts for. Without a stamp it is `now` (autoscaler.md 1.3), and so it
/// is with one from the future, which would make present stats too old for the short windows. On
/// the stream the sender's clock counts within 2 s (protocols.md 3); over WebSocket late stats
/// belong to their own second.
[[nodiscard]] TimePoint time_of(std::optional<TimePoint> stamp, StatDoor door, TimePoint now);

/// What happened to the received stats.
struct IntakeCounts {
  std::uint64_t recorded = 0;
  std::uint64_t unknown = 0;    ///< dropped: the revision is not registered
  std::uint64_t flawed = 0;     ///< dropped: see StatFlaw
  std::uint64_t late = 0;       ///< dropped: older than the stable window
  std::uint64_t restamped = 0;  ///< recorded at the time of arrival: the stamp was seconds off

  friend bool operator==(const IntakeCounts&, const IntakeCounts&) = default;
};

}  // namespace sluice::autoscaler
