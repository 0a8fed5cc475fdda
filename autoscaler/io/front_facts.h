#pragma once

#include "autoscaler/core/view/latency_window.h"
#include "common/base/ids.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

namespace sluice::autoscaler {

class Revision;

/// Facts that only the front door and the supervisor of replicas in the same process have. In a
/// cluster, where they are other programs, there is none.
class FrontFacts {
 public:
  virtual ~FrontFacts() = default;

  /// Of the service of a revision, since the engine began or the service was added.
  struct Counted {
    const LatencyWindow* latency = nullptr;  ///< null: it has had no revision in service
    std::uint64_t errors = 0;    ///< requests that were passed on and ended with 5xx or without end
    std::uint64_t refused = 0;   ///< requests that were not passed on
    std::int64_t queued = 0;     ///< now
    std::int64_t in_flight = 0;  ///< now, queued ones not included
  };

  [[nodiscard]] virtual Counted counted(const Revision& revision) const = 0;

  /// The memory of the machine (protocols.md 5, GET /memory); null: it cannot be read.
  [[nodiscard]] virtual nlohmann::json memory() const = 0;

  /// Sets "url", "queued", "in_flight", "rps", "p50_ms", "p99_ms" and "not_ready", the
  /// revisions of the same service that are amiss, the newest first, of a status object.
  virtual void complete(const Revision& revision, nlohmann::json& status) const = 0;

  /// Sets "pid", "port" and "memory_bytes" of one replica, in a status object or an event.
  virtual void complete_replica(const Revision& revision, const PodId& pod,
                                nlohmann::json& replica) const = 0;

  /// Sets "cores" and "cpu_use_millicores" of a place, which has its name: how many cores its
  /// replicas may use, null when all, and what they use.
  virtual void complete_place(nlohmann::json& place) const = 0;

  /// The revisions that have a part of the requests of the service, where the given one serves;
  /// else that one alone.
  [[nodiscard]] virtual std::vector<RevisionId> sharing(const RevisionId& revision) const = 0;

  /// The cold_start event of the service's last start from nothing; null: none.
  [[nodiscard]] virtual nlohmann::json last_cold_start(const Revision& revision) const = 0;

  /// "keeps_awake" of `explain`: the clients that sent requests in the last minute.
  [[nodiscard]] virtual nlohmann::json callers(const Revision& revision) const = 0;

  /// Sets "not_ready" of `explain`, as of a status object, and "last_failure": while nothing is
  /// wanted of the revision, why its last start failed; else null.
  virtual void complete_explanation(const Revision& revision,
                                    nlohmann::json& explanation) const = 0;

  /// Adds the facts of the process to `version`.
  virtual void complete_version(nlohmann::json& version) const = 0;
};

}  // namespace sluice::autoscaler
