#pragma once

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/scaling/cluster_config.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// What the platform knows of one pod.
struct WatchedPod {
  PodId id;
  std::string address;  ///< where it serves, as activators know it; empty: nowhere yet
  std::string stats;    ///< where it answers a scrape; empty: it is not scraped
  bool ready = false;
  bool terminating = false;  ///< it was told to go
  std::string node{};        ///< where it runs; empty: the platform does not say
  std::string failed{};      ///< why it cannot become ready, as a sentence; empty: it may

  friend bool operator==(const WatchedPod&, const WatchedPod&) = default;
};

/// A revision and its pods.
struct WatchedRevision {
  RevisionId id;
  std::string service;             ///< the name people know it by
  std::vector<std::string> hosts;  ///< it answers to
  std::int32_t container_concurrency = 0;
  StringMap annotations;
  std::vector<WatchedPod> pods;

  /// Since when its traffic goes through activators. TimePoint::min(): it always does, as on one
  /// machine; absent: it does not, or nobody has confirmed it.
  std::optional<TimePoint> proxied_since = TimePoint::min();
  Reachability reachability = Reachability::reachable;

  /// Replicas that somebody chose: they run whatever the load says, until this is absent again.
  std::optional<std::int32_t> chosen{};

  /// What runs its pods, where that can change; empty: it cannot, or is not there now. What was
  /// learnt of one says nothing of another.
  std::string target{};
};

/// Who follows the platform. Full state each time; called on the loop.
class PodWatchListener {
 public:
  virtual ~PodWatchListener() = default;
  virtual void on_revision(WatchedRevision revision) = 0;
  virtual void on_revision_gone(const RevisionId& revision) = 0;

  /// It is no longer ours to scale, and exists: another replica governs it from now on.
  virtual void on_revision_released(const RevisionId& revision) = 0;

  /// The keys of `config-autoscaler`; empty when there is none. A problem rejects it: what was in
  /// force stays.
  [[nodiscard]] virtual std::optional<Problem> on_config(const StringMap& config) = 0;
};

/// The stream of what exists (architecture.md 4).
class PodWatch {
 public:
  virtual ~PodWatch() = default;

  /// Tells everything there is before it returns, the configuration first, and follows from then
  /// on. `listener` outlives the watch.
  [[nodiscard]] virtual std::optional<Problem> open(PodWatchListener& listener) = 0;

  /// Objects that are wrong now and change nothing, for health pages.
  [[nodiscard]] virtual std::vector<std::string> wrong() const = 0;
};

}  // namespace sluice::autoscaler
