#pragma once

#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::proto {

/// Twin of the message metrics.Stat (protocols.md 2) for code that must not see generated headers.
struct Stat {
  std::string pod_name{};
  double average_concurrent_requests = 0;
  double average_proxied_concurrent_requests = 0;
  double request_count = 0;
  double proxied_request_count = 0;
  double process_uptime = 0;   ///< seconds
  std::int64_t timestamp = 0;  ///< Unix seconds; 0 = not set

  friend bool operator==(const Stat&, const Stat&) = default;
};

/// Twin of metrics.WireStatMessage, and of sluice.v1.RevisionStat: a stat, and the revision it is
/// about.
struct StatMessage {
  RevisionId revision;
  Stat stat;
  /// Age of the newest request, whole milliseconds on the wire; absent: the sender does not report
  /// it, as Knative's do not.
  std::optional<Duration> newest{};

  friend bool operator==(const StatMessage&, const StatMessage&) = default;
};

}  // namespace sluice::proto
