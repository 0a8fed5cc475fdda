#pragma once

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/model/host_rule.h"
#include "common/model/placement_wish.h"
#include "common/net/address.h"
#include "common/scaling/cluster_config.h"
#include "common/scaling/scaling_spec.h"
#include "common/settings/knative_contract.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What exists, as every platform reports it and every part of the engine reads it.
namespace sluice::model {

using autoscaler::StringMap;

/// One pod of a revision.
struct Pod {
  PodId id;
  std::string node{};                     ///< where it runs; empty: unknown
  std::optional<net::Address> address{};  ///< where it serves; absent: it cannot be reached yet
  std::optional<net::Address> stats{};    ///< where it answers a scrape; absent: it is not scraped
  bool ready = false;
  bool terminating = false;  ///< it is being deleted, for any reason
  std::string failed{};      ///< why it cannot become ready, or has to go; empty: it may
  /// Its sidecar's answer may count before the platform calls it ready (activator.md 6.3).
  bool fast_ready = true;
  /// It is ready because its sidecar has reported so to the platform: used without another probe.
  bool proven = false;

  friend bool operator==(const Pod&, const Pod&) = default;
};

/// Why no pod of a revision becomes ready, where the platform starts them itself.
struct StartFailure {
  std::string why;
  /// Requests that would have to wait are refused until then; one that comes later makes the next
  /// try.
  TimePoint retry_at{};
  /// `why` as strangers may read it; empty: all of it.
  std::string for_clients{};

  friend bool operator==(const StartFailure&, const StartFailure&) = default;
};

/// The protocol of the user process.
enum class AppProtocol : std::uint8_t { http1, h2c };

/// One revision and its pods. A platform fills in what it has: what activators need, what
/// autoscalers need, or both.
struct Revision {
  RevisionId id;
  std::string service;  ///< the name shown to people; the revision's own when not given
  StringMap annotations{};
  std::int32_t container_concurrency = 0;  ///< 0: no limit
  std::vector<HostRule> hosts{};           ///< it answers to
  /// Of the requests for `hosts`, which it shares with other revisions that have the same hosts and
  /// a percentage of their own. Absent: all of them.
  std::optional<std::int32_t> percent{};
  std::vector<HostRule> own_hosts{};  ///< it answers to besides, alone
  std::vector<Pod> pods{};            ///< names are unique
  /// The name of the revision in the same namespace whose place it takes from when it first has
  /// hosts: they are no longer that one's, and what waits for that one waits for it. Empty: none.
  std::string replaces{};
  /// Pods of the revisions that it replaces which share its requests, while it has too few of its
  /// own. Of no count for its scaling.
  std::vector<Pod> shared{};

  // For requests.
  AppProtocol protocol = AppProtocol::http1;
  Duration timeout = std::chrono::seconds{300};
  Duration response_start_timeout{0};  ///< 0: off
  Duration idle_timeout{0};            ///< 0: off
  /// IP addresses of the activators that its requests go through; empty: through any of them.
  std::vector<std::string> activators{};
  /// Where its pods are reached together (activator.md 6.3).
  std::optional<net::Address> private_service{};
  std::uint16_t private_service_tls_port = 0;  ///< 0: none
  /// `older` only of revisions of an older Knative.
  settings::KnativeContract contract = settings::KnativeContract::current;

  // For scaling.
  /// Since when its traffic goes through activators. TimePoint::min(): it always does, as on one
  /// machine; absent: it does not, or nothing has confirmed it.
  std::optional<TimePoint> proxied_since = TimePoint::min();
  autoscaler::Reachability reachability = autoscaler::Reachability::reachable;
  PlacementWish placement{};  ///< where its pods may run
  /// Two of its pods cannot run beside each other: none is moved behind its traffic.
  bool one_at_a_time = false;
  /// Replicas chosen by hand: they run whatever the load is, until this is absent again.
  std::optional<std::int32_t> chosen{};
  /// What runs its pods, where that can change; empty: it cannot, or is not there now. Data of one
  /// says nothing about another.
  std::string target{};
  /// Replicas of a new revision instead of its initial scale: as many as the one that it replaces
  /// has, with one at least for a stable window.
  std::optional<std::int32_t> initial{};
  /// What one replica may take, its sidecar included: bytes, and thousandths of a core. Absent: not
  /// known.
  std::optional<std::int64_t> claim_memory{};
  std::optional<std::int64_t> claim_cpu{};
  /// Another revision has taken its place: it gets no requests, all of its pods go.
  bool retired = false;
  /// The one of its service that people see. Another has its place still, or already, if not.
  bool in_service = true;
  /// Why the replicas that are added fail one after the other, where the platform starts them
  /// itself, while others are ready; empty: they do not.
  std::string growth_failure{};
  std::uint32_t failed_starts = 0;              ///< in a row, with that or another cause
  std::optional<StartFailure> start_failure{};  ///< absent: none, or its pods have it (Pod::failed)

  friend bool operator==(const Revision&, const Revision&) = default;
};

/// Follows what exists. Full state each time; called on the loop.
class Listener {
 public:
  virtual ~Listener() = default;

  /// A revision is new, or something of it has changed.
  virtual void on_revision(Revision revision) = 0;

  virtual void on_revision_gone(const RevisionId& revision) = 0;

  /// It is no longer ours to scale, and exists: another replica governs it from now on.
  virtual void on_revision_released(const RevisionId& revision) { on_revision_gone(revision); }

  /// The serving addresses of all activators; empty when they are not known.
  virtual void on_activators(std::vector<net::Address> /*activators*/) {}

  /// The keys of `config-autoscaler`; empty when there is none. A problem rejects it: what was in
  /// force stays.
  [[nodiscard]] virtual std::optional<Problem> on_config(const StringMap& /*config*/) {
    return std::nullopt;
  }

  /// Everything that changed at one time has been reported.
  virtual void on_settled() {}
};

}  // namespace sluice::model
