#pragma once

#include "activator/core/destinations.h"
#include "activator/core/pod_subset.h"
#include "activator/core/throttler.h"
#include "activator/io/due_times.h"
#include "activator/io/pod_asker.h"
#include "activator/io/pod_list.h"
#include "activator/io/pool_probe.h"
#include "common/loop/loop.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::activator {

/// A pod as the platform reports it.
struct PlatformPod {
  std::string dest;      ///< `ip:port` or `unix:/path`: what names it here
  std::string name;      ///< another one at the same dest is another pod
  net::Address address;  ///< of its sidecar
  PodWord word = {};     ///< the platform's
};

struct ProberSpec {
  Duration probe_timeout = std::chrono::milliseconds{300};  ///< PROBE_TIMEOUT
  Duration probe_gap_max = std::chrono::milliseconds{200};  ///< PROBE_FREQUENCY
  MeshMode mesh = MeshMode::automatic;  ///< whether pods or their private Service are the way
  /// Pods are addressed through a mesh: by the Host of their private Service (activator.md 7).
  bool pod_addressability = false;
};

/// How requests reach the sidecar at an address when that is not in clear text; the address it
/// returns is the one to dial.
using PodDoor = std::function<net::UpstreamTls(RevisionHandle revision, net::Address& address)>;

/// Gets the steps of a cold start.
struct ProberEvents {
  std::function<void(RevisionHandle)> on_pod_seen;    ///< the first pod exists
  std::function<void(RevisionHandle)> on_pod_usable;  ///< and may take requests
};

/// From the pods of the platform to those that the gateway may choose: probes each one as
/// Destinations says, over the connections its requests will use, and lists the part of them that
/// is this activator's (activator.md 5.6, 6). Changes go to the gateway one pod at a time.
class PodProber {
 public:
  /// `io` is for connections that only probes use. It, `clock`, `front` and `asker` outlive this;
  /// the gateway's revisions are added here too, and removed here first.
  PodProber(boost::asio::io_context& io, Loop& clock, PodList& front, PodAsker& asker,
            const ProberSpec& spec, ProberEvents events);
  ~PodProber();
  PodProber(const PodProber&) = delete;
  PodProber& operator=(const PodProber&) = delete;

  /// Pods are reached through `door`; to be set before the first pod.
  void set_door(PodDoor door) { door_ = std::move(door); }

  void add(RevisionHandle revision, std::int32_t container_concurrency);

  /// Another limit than at add(): running requests continue, new ones meet the new limit.
  void set_limit(RevisionHandle revision, std::int32_t container_concurrency);

  /// Its pods are gone for the gateway too.
  void remove(RevisionHandle revision);

  /// All pods there are; dests are unique.
  void set_pods(RevisionHandle revision, std::span<const PlatformPod> pods);

  /// Where its pods are reached together: the way for all requests while no pod can be reached
  /// itself, by the rules of Destinations. Absent: there is none. Where requests are encrypted it
  /// is reached at `tls_port`, and is no way if that is 0.
  void set_service(RevisionHandle revision, std::optional<net::Address> service,
                   std::uint16_t tls_port = 0);

  /// Those that take no new requests while there is another one.
  void set_avoid(RevisionHandle revision, std::span<const std::string> dests);

  /// The place of this activator among all.
  void set_place(const ActivatorPlace& place);

  /// Among those that serve this revision, where that is known; it counts before the other.
  void set_place(RevisionHandle revision, const ActivatorPlace& place);

  [[nodiscard]] const ActivatorPlace& place() const { return place_; }

  [[nodiscard]] const ActivatorPlace& place(RevisionHandle revision) const;

  /// A request could not be handed to this pod, or by the private Service to any. Changes no pod
  /// before it returns.
  void suspect(RevisionHandle revision, const PodId& pod);

  /// The same for a pod that refused a request: one that was only full is not in doubt.
  void refused(RevisionHandle revision, const PodId& pod, PodRefusal refusal) {
    if (refusal != PodRefusal::full) suspect(revision, pod);
  }

  struct Counts {
    std::uint64_t passed = 0;
    std::uint64_t silent = 0;     ///< no answer
    std::uint64_t not_ready = 0;  ///< any answer but the right one
  };

  [[nodiscard]] const Counts& counts() const { return counts_; }

  /// Pods known and pods that may take requests.
  struct Pods {
    std::size_t known = 0;
    std::size_t usable = 0;
    std::size_t listed = 0;  ///< this activator's part
  };

  [[nodiscard]] Pods pods(RevisionHandle revision) const;

  /// Pods that the gateway may choose, of all revisions.
  [[nodiscard]] std::size_t listed() const { return listed_; }

  /// Frees what dropped pods left behind; call now and then.
  void sweep();

  /// Dropped pods that wait for it: the prober's own connections to them may still be ending.
  [[nodiscard]] std::size_t leaving() const { return leaving_.size(); }

 private:
  struct Watch;
  struct Run;

  [[nodiscard]] Watch* find(RevisionHandle revision) const;
  [[nodiscard]] Watch& watch_of(RevisionHandle revision);
  void drop(Watch& watch, const std::string& dest, TimePoint now);
  void end_runs(Watch& watch, const std::string& dest, TimePoint now);
  void leave(std::unique_ptr<net::UpstreamPool> pool);
  [[nodiscard]] std::unique_ptr<net::UpstreamPool> know(RevisionHandle revision, FrontPod pod,
                                                        std::uint16_t service_tls_port = 0);
  [[nodiscard]] std::string host_of(RevisionHandle revision, const net::Address& address,
                                    const std::string& name) const;
  void follow_service(Watch& watch);
  void forget_service(Watch& watch);
  void list_service(Watch& watch);
  [[nodiscard]] net::UpstreamPool& service_pool(Watch& watch);
  [[nodiscard]] net::UpstreamPool& pod_pool(Watch& watch, const std::string& dest);
  void take(Watch& watch, const PlatformPod& pod, TimePoint now);
  void apply(Watch& watch, const DestinationChanges& changes);
  void assign(Watch& watch);
  [[nodiscard]] bool takes_all(const Watch& watch) const;
  void list(Watch& watch, const std::string& dest);
  void unlist(Watch& watch, const std::string& dest);
  void pump(Watch& watch);
  void start(Watch& watch, const Probe& probe);
  void ended(std::uint64_t run, const PoolProbeResult& result);
  void schedule(Watch& watch);
  void on_due(std::size_t index, TimePoint now);

  boost::asio::io_context& io_;
  Loop& clock_;
  PodList& front_;
  PodAsker& asker_;
  ProberSpec spec_;
  ProberEvents events_;
  PodDoor door_;
  ActivatorPlace place_;

  struct Place {
    std::int32_t container_concurrency = 0;
    std::optional<ActivatorPlace> among;  // those that serve it
    std::optional<net::Address> service;
    std::uint16_t service_tls_port = 0;
    std::unique_ptr<Watch> watch;  // null while it has no pods
  };

  std::vector<Place> watches_;  // by index_of
  std::unordered_map<std::uint64_t, std::unique_ptr<Run>> runs_;
  std::uint64_t next_run_ = 1;
  DueTimes due_;                                             // of watches, when a probe is to begin
  std::vector<std::unique_ptr<net::UpstreamPool>> leaving_;  // of dropped pods, closed
  Counts counts_;
  std::size_t listed_ = 0;
};

}  // namespace sluice::activator
