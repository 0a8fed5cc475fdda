#pragma once

#include "common/base/ids.h"
#include "common/messages/node_stream.h"
#include "common/messages/start_gate.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::autoscaler {

/// Whether replicas may start where they run: on nodes whose agents report, or on the one machine.
class Room {
 public:
  /// The replicas that a revision requests.
  struct Demand {
    std::int32_t wanted = 0;   ///< replicas
    std::int32_t load = 0;     ///< of them, what the load alone needs now
    std::int32_t ordered = 0;  ///< that it was granted before
    std::int32_t settled = 0;  ///< that have run for so long that their memory is in the reports
    std::int64_t claim = kDefaultClaim;  ///< bytes of one replica, above 0
    TimePoint now{};
  };

  struct Granted {
    std::int32_t replicas = 0;
    std::int64_t free =
        0;                 ///< bytes that may start now beside what others were granted; if bounded
    bool bounded = false;  ///< fewer than wanted: there is no room for more
    bool spaced = false;   ///< fewer than there is room for: try again after kStartSpacing
    std::string shortage{};                          ///< if bounded: why, as a sentence
    std::string fix = "free memory, or add a node";  ///< of that; may be empty
    /// How long requests may wait before they are refused because there is no room; absent: never
    /// refused.
    std::optional<Duration> patience = Duration{0};
    /// When refused requests are worth another try.
    Duration retry_after = proto::kReportInterval;
  };

  virtual ~Room() = default;

  /// How many replicas the revision may have from now on.
  [[nodiscard]] virtual Granted grant(const RevisionId& revision, const Demand& demand) = 0;

  /// The revision is gone, or its number is chosen by hand: what was kept for it is free.
  virtual void forget(const RevisionId& revision) = 0;

  /// Whether the pod is held back under memory pressure: it takes no new requests while another one
  /// can, and is no capacity. `node` empty: its node is unknown.
  [[nodiscard]] virtual bool throttled(const std::string& space, const std::string& pod,
                                       const std::string& node) const = 0;
};

}  // namespace sluice::autoscaler
