#pragma once

#include "common/time/time_point.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::activator {

/// mesh-compatibility-mode of config-network (activator.md 2, 6.3).
enum class MeshMode : std::uint8_t {
  automatic,  ///< pods are probed; the cluster IP is the way out when none can be reached
  enabled,    ///< always the cluster IP
  disabled,   ///< always pods, and those the platform calls ready without a probe
};

/// The mode called `name`: `auto`, `enabled` or `disabled`. Nothing for any other name.
[[nodiscard]] std::optional<MeshMode> parse_mesh_mode(std::string_view name);

struct DestinationsSpec {
  MeshMode mode = MeshMode::automatic;
  bool passthrough_lb = false;  ///< pods are addressed through the mesh: never the cluster IP
  /// Whether a sidecar's word counts before the platform's, where the pod allows it too. False with
  /// an exec readiness probe or a startup probe (activator.md 6.3): then a pod is used only once
  /// the platform calls it ready.
  bool fast_ready = true;
  Duration probe_timeout = std::chrono::milliseconds{300};  ///< PROBE_TIMEOUT
  Duration probe_gap_max = std::chrono::milliseconds{200};  ///< PROBE_FREQUENCY: slowest rhythm
};

/// A pod as the platform reports it.
struct PodWord {
  bool ready = false;
  bool fast_ready = true;  ///< its sidecar counts before that
  bool proven = false;     ///< ready because its sidecar has said so: used without a probe

  friend bool operator==(const PodWord&, const PodWord&) = default;
};

/// A probe to make now. `number` names it in probed().
struct Probe {
  std::uint64_t number = 0;
  std::string dest;             ///< `ip:port`, or whatever the caller addresses pods by
  bool cluster_ip = false;      ///< of the revision's private service
  Duration connect_timeout{0};  ///< to be connected by then
  /// To be answered by then, counted from its begin. Long where a sidecar may hold the request
  /// until its container is ready, which shows readiness without polling.
  Duration answer_timeout{0};
};

/// How a probe ended.
enum class ProbeResult : std::uint8_t {
  passed,     ///< 200 and exactly `queue`
  silent,     ///< nothing answered: refused, reset or too late
  mesh_like,  ///< 502 or 503 that may come from a mesh
  not_ready,  ///< any other answer: the pod itself was reached
};

/// What an answer to a probe means (activator.md 6.2, 14.6). A 503 that carries Sluice-Error comes
/// from a sidecar, not from a mesh.
[[nodiscard]] ProbeResult judge_probe(int status, std::string_view body, bool has_sluice_error);

/// One change for the throttler.
struct DestinationChange {
  enum class Kind : std::uint8_t {
    pod_usable,   ///< `dest` takes requests from now on
    pod_gone,     ///< `dest` takes no new requests
    cluster_ip,   ///< all requests go to `dest`, behind which `backends` pods are ready
    cluster_gone  ///< the cluster IP `dest` takes no new requests
  };

  Kind kind = Kind::pod_usable;
  std::string dest;
  std::int32_t backends = 0;  ///< of cluster_ip; sent again whenever it changes

  friend bool operator==(const DestinationChange&, const DestinationChange&) = default;
};

using DestinationChanges = std::vector<DestinationChange>;

/// From the platform's reports of the pods of one revision to where requests may go (activator.md
/// 6.3, 14.6). It decides which pod to probe and when, takes the results, and appends what changed;
/// it keeps no socket and no clock.
///
/// A pod's way through the activator, and the object that holds it:
///
///     known ──▶ probing ──▶ ready ──▶ draining or throttled ──▶ gone
///     └──── Destinations ───┘ └────────── Throttler ───────────┘
///
/// Known and probing pods exist only here. One that takes requests is reported once as pod_usable
/// and listed in the throttler, which from then on alone has its capacity and what runs on it.
/// Draining and throttled pods are those the autoscaler names in `avoid`: they stay listed there
/// and stay usable here. Gone means pod_gone was reported: the throttler lets what runs end.
///
/// Where the reference makes rounds of probes under one deadline, each pod has a rhythm of its own:
/// the first probe at once, then at first every 10 ms, later after a sixteenth of the time that it
/// has failed, up to probe_gap_max; a slow pod delays no other. What the reference says of a round
/// holds for the latest result of every pod.
///
/// A pod that the platform itself reports ready through its sidecar is in use at once. One in use
/// is never probed, but when the platform no longer calls it ready or a request failed on it
/// (suspect()): then it stays in use until its probe has failed. The last pods in use leave only
/// after kSilencesOfLast unanswered probes, so a short network failure does not empty the list; a
/// sidecar's refusal counts at once. The cluster IP comes into question when no pod is in use and
/// each one indicates a mesh: by a 502 or 503 that is not a sidecar's, or by as many silences in a
/// row since the platform called it ready: pods that start are silent, too. Where none is ready
/// behind it, it takes nothing and is not probed.
class Destinations {
 public:
  /// Probes under way at once, at most. From half of that on none is held: each pod gets its turn.
  static constexpr std::size_t kProbesMax = 1024;
  /// Silent probes in a row after which even the last pod in use goes.
  static constexpr std::int32_t kSilencesOfLast = 3;
  /// How long a held probe may be unanswered: the ten seconds of a sidecar's own run, and one more.
  static constexpr Duration kHeldMax = std::chrono::seconds{11};
  /// How often pods are tried again while requests go to the cluster IP (activator.md 14.6).
  static constexpr Duration kPodsAgain = std::chrono::seconds{30};

  explicit Destinations(const DestinationsSpec& spec) : spec_{spec} {}

  /// The pod at `dest` exists. Called again when the platform's word changes.
  void set_pod(std::string_view dest, const PodWord& word, TimePoint now,
               DestinationChanges& changes);

  /// The pod at `dest` is gone. A dest that is not known changes nothing.
  void remove_pod(std::string_view dest, TimePoint now, DestinationChanges& changes);

  /// All pods at once, as (dest, ready); those not named are gone. Costs O(pods).
  void set_pods(const std::vector<std::pair<std::string, bool>>& pods, TimePoint now,
                DestinationChanges& changes);

  /// Where the private service is reached; nothing when there is no such service, which is for the
  /// caller to log: without it there is no way out of a mesh and nothing changes.
  void set_cluster_ip(std::optional<std::string> dest, TimePoint now, DestinationChanges& changes);

  /// A request could not be handed to the pod at `dest`: it is probed at once.
  void suspect(std::string_view dest, TimePoint now);

  /// Likewise for the cluster IP while it takes requests: it stays until its probe fails, or has
  /// been silent as often as the last pod in use may be.
  void suspect_cluster_ip(TimePoint now);

  /// A probe that is due, if any; call until nothing. Each one owes one probed().
  [[nodiscard]] std::optional<Probe> next_probe(TimePoint now);

  /// When next_probe() has something to give again, unless a result comes before; nothing when only
  /// a result or a change can bring a probe about.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  /// The probe `number` ended. Results of pods that went meanwhile are ignored. `round_trip` is how
  /// long its connect took, 0 when unknown: later limits scale with it.
  void probed(std::uint64_t number, ProbeResult result, TimePoint now, Duration round_trip,
              DestinationChanges& changes);

  [[nodiscard]] std::size_t pods() const { return pods_.size(); }

  [[nodiscard]] std::size_t usable() const { return usable_; }

  [[nodiscard]] std::size_t ready() const { return ready_; }

 private:
  // Whether the latest result of a pod indicates a mesh before the pods.
  enum class Voice : std::uint8_t { none, pods, mesh };

  struct Pod {
    PodWord word;
    bool usable = false;    // reported as pod_usable
    bool checking = false;  // usable, and to be probed all the same
    Voice voice = Voice::none;
    std::optional<ProbeResult> last = {};
    std::optional<TimePoint> failing_since = {};  // the first failure of those in a row
    std::int32_t silences = 0;  // of them the last ones to which no sidecar answered
    Duration round_trip{0};
    std::optional<TimePoint> due = {};
    std::uint64_t probe = 0;  // under way; 0 for none
  };

  using Pods = std::map<std::string, Pod, std::less<>>;
  using Entry = Pods::value_type;

  [[nodiscard]] bool wants_probe(const Pod& pod) const;
  [[nodiscard]] bool wants_cluster_ip() const;
  [[nodiscard]] Voice voice_of(const Pod& pod) const;
  [[nodiscard]] Duration gap_after(Duration failing) const;
  [[nodiscard]] Probe probe_of(const std::string& dest, const Pod& pod) const;
  void schedule(Entry& pod, std::optional<TimePoint> due);
  void use(Entry& pod, bool usable, DestinationChanges& changes);
  void count(Pod& pod);
  void drop(Pods::iterator pod, DestinationChanges& changes);
  void passed(Entry& pod, TimePoint now, DestinationChanges& changes);
  void failed(Entry& pod, ProbeResult result, TimePoint now, DestinationChanges& changes);
  void cluster_probed(ProbeResult result, TimePoint now);
  void cluster_checked(ProbeResult result, TimePoint now);
  void leave_cluster_ip(TimePoint now);
  void settle(TimePoint now, DestinationChanges& changes);
  void tell_cluster_ip(DestinationChanges& changes);

  DestinationsSpec spec_;
  Pods pods_;
  std::set<std::pair<TimePoint, std::string>> due_;  // of pods with a probe to come
  std::map<std::uint64_t, std::string> under_way_;   // by number; empty for the cluster IP
  std::uint64_t next_number_ = 1;
  std::size_t usable_ = 0;
  std::size_t ready_ = 0;
  std::size_t pod_voices_ = 0;
  std::size_t mesh_voices_ = 0;
  std::optional<std::string> cluster_ip_;
  bool cluster_healthy_ = false;
  bool cluster_checking_ = false;  // healthy, and to be probed all the same
  std::int32_t cluster_silences_ = 0;
  std::optional<TimePoint> cluster_failing_since_;
  std::uint64_t cluster_probe_ = 0;  // under way; 0 for none
  std::optional<TimePoint> cluster_due_;
  std::optional<DestinationChange> told_;  // the last cluster_ip that was not followed by its end
};

}  // namespace sluice::activator
