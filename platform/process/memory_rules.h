#pragma once

#include "memory-pressure/core/headroom_policy.h"
#include "memory-pressure/core/reconciler.h"
#include "memory-pressure/core/start_gate.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace sluice::local {

/// A replica as the rules see it at one moment.
struct ReplicaSeen {
  std::string id;  ///< `app-00001-1`
  std::string revision;
  pid_t pid = -1;  ///< tells two lives of one id apart
  TimePoint started;
  bool ready = false;
  bool leaving = false;                       ///< drains or stops: it is not to be slowed down
  bool limited_cpu = false;                   ///< by its own spec
  std::int64_t memory_limit = 0;              ///< bytes; 0: none
  std::optional<std::int64_t> memory;         ///< bytes in use; absent: not known
  std::optional<node_agent::CpuQuota> quota;  ///< absent: cannot be read or changed
};

/// May a replica start?
struct StartAnswer {
  bool granted = true;
  bool later = false;      ///< not refused: one starts per look while memory is short
  std::int64_t free = 0;   ///< bytes that may start now
  std::int64_t claim = 0;  ///< bytes this one asks for
};

/// The memory rules of memory-pressure.md 5 with one machine as the node and the replicas of an
/// engine as its containers: the node agent's own policy, gate and reconciler, joined. Decides; the
/// caller looks, acts and brings the answers.
class MemoryRules {
 public:
  /// Idle replicas stay retired this long after the pressure: whoever comes back at once brings it
  /// back.
  static constexpr Duration kCalmAfter = std::chrono::seconds{60};

  /// `can_throttle`: false leaves the gate and the idle ones.
  explicit MemoryRules(bool can_throttle) : can_throttle_(can_throttle), reconciler_({}) {}

  /// Takes a look at the machine and all replicas; returns what to do, in order. A failed read of
  /// memory is absent. Before the first that succeeds everything may start.
  [[nodiscard]] std::vector<node_agent::Action> look(
      const std::optional<node_agent::NodeMemory>& memory, const std::vector<ReplicaSeen>& replicas,
      TimePoint now);

  /// A quota was written, or was not; what follows.
  [[nodiscard]] std::vector<node_agent::Action> answered(std::uint64_t call,
                                                         node_agent::Outcome outcome,
                                                         TimePoint now);

  /// A quota was read; absent: it could not be.
  [[nodiscard]] std::vector<node_agent::Action> read_back(
      std::uint64_t call, const std::optional<node_agent::CpuQuota>& in_kernel, TimePoint now);

  /// The start gate. A grant reserves the claim until a look shows the replica, `ended` is called
  /// or a minute has passed.
  [[nodiscard]] StartAnswer ask(const std::string& replica, const std::string& revision,
                                std::int64_t memory_limit, TimePoint now);

  /// The replica is gone, or was not started after all.
  void ended(const std::string& replica) { gate_.settled(replica); }

  /// The revision is gone: its size is forgotten.
  void forget(const std::string& revision) { largest_.erase(revision); }

  /// Whether the last look is too old to answer ask() by.
  [[nodiscard]] bool is_stale(TimePoint now) const;

  /// Until the next look.
  [[nodiscard]] Duration pause() const;

  /// A replica that is slowed down, or was and has not got all back yet.
  [[nodiscard]] bool throttled(const std::string& replica) const {
    return throttled_.contains(replica);
  }

  [[nodiscard]] const std::set<std::string>& throttled() const { return throttled_; }

  /// Why it is; empty when it is not.
  [[nodiscard]] std::string why_throttled(const std::string& replica) const;

  /// Whether memory is short, or was a moment ago: replicas that the load does not need shall go,
  /// and none of that kind shall come (ladder step 0).
  [[nodiscard]] bool trims(TimePoint now) const { return trims_until_ && now < *trims_until_; }

  /// Memory is near a bound or somebody is throttled: samples are dense.
  [[nodiscard]] bool is_tight() const { return tight_; }

  [[nodiscard]] const node_agent::Decision& decision() const { return decision_; }

  /// Bytes that may start between this look and the next.
  [[nodiscard]] std::int64_t admit_bytes() const { return admit_; }

  [[nodiscard]] const std::optional<node_agent::NodeMemory>& memory() const { return seen_.memory; }

  /// What the named replica held at the last look.
  [[nodiscard]] std::optional<std::int64_t> bytes_of(const std::string& replica) const;

  /// The replica that `container` of an action means.
  [[nodiscard]] static std::string replica_of(const std::string& container);

 private:
  [[nodiscard]] std::int64_t claim_of(const std::string& revision, std::int64_t limit) const;
  [[nodiscard]] node_agent::Container container_of(const ReplicaSeen& replica, TimePoint now) const;
  void learn(const std::vector<ReplicaSeen>& replicas);
  void note_throttled();

  bool can_throttle_;
  node_agent::PolicySettings settings_;
  std::optional<node_agent::HeadroomPolicy> policy_;  // from the first reading on
  node_agent::Reconciler reconciler_;
  // Claims add up from the grant on, so that many may start in one turn.
  node_agent::StartGate gate_{{.spacing = Duration::zero()}};
  node_agent::Observation seen_;
  node_agent::Decision decision_;
  std::map<std::string, std::int64_t> largest_;  // seen of a ready replica, by revision
  std::set<std::string> throttled_;              // replica ids
  std::optional<TimePoint> looked_at_;
  std::optional<TimePoint> trims_until_;
  std::int64_t admit_ = 0;    // bytes that may start, claims granted since the look included
  std::size_t admitted_ = 0;  // since the last look
  bool tight_ = false;
};

}  // namespace sluice::local
