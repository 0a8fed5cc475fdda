#pragma once

#include "memory-pressure/core/controller.h"
#include <cstdint>
#include <map>
#include <optional>
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
  bool never = false;                         ///< by its spec: neither slowed down nor held
  bool holdable = false;                      ///< no probe asks it: it may be held while it rests
  bool rests = false;                         ///< ready, and for a while without a request
  bool held = false;                          ///< its processes are stopped
  bool limited_cpu = false;                   ///< by its own spec
  std::int64_t memory_limit = 0;              ///< bytes; 0: none
  std::optional<std::int64_t> memory;         ///< bytes in use; absent: not known
  std::optional<node_agent::CpuQuota> quota;  ///< absent: cannot be read or changed
};

/// The memory controller with one machine as its node and the replicas of an engine as its
/// containers. Of its own: what a replica claims, and how long idle ones stay away after a
/// shortage. Decides; the caller looks, acts and brings the answers.
class MemoryRules {
 public:
  /// Idle replicas stay retired this long after the pressure: one that came back at once would
  /// bring it back.
  static constexpr Duration kCalmAfter = std::chrono::seconds{60};

  /// `can_throttle`: false leaves the gate and the idle ones.
  explicit MemoryRules(bool can_throttle);

  /// Takes a look at the machine and all replicas; returns what to do, in order. A failed read of
  /// memory is absent. Before the first that succeeds everything may start.
  [[nodiscard]] std::vector<node_agent::Action> look(
      const std::optional<node_agent::NodeMemory>& memory, const std::vector<ReplicaSeen>& replicas,
      TimePoint now);

  /// Takes what came of the actions.
  [[nodiscard]] node_agent::MemoryController& controller() { return controller_; }

  /// Whether the replica may start now (MemoryController::ask). It claims its limit, else what a
  /// ready one of its revision held at most, else something usual.
  [[nodiscard]] GateAnswer ask(const std::string& replica, const std::string& revision,
                               std::int64_t memory_limit, TimePoint now);

  /// What a replica of the revision claims, in bytes, whose limit is `limit`; 0: it has none.
  [[nodiscard]] std::int64_t claim_of(const std::string& revision, std::int64_t limit) const;

  /// The revision is gone: its size is forgotten.
  void forget(const std::string& revision) { largest_.erase(revision); }

  /// Whether the last look is too old to answer ask() by.
  [[nodiscard]] bool is_stale(TimePoint now) const;

  /// The replicas that are slowed down, or were and have not got all back yet, with the reason.
  /// Not those that are held while no request is in flight: they serve as any other.
  [[nodiscard]] std::map<std::string, std::string> throttled() const;

  /// Whether memory is short, or was a moment ago: replicas that the load does not need shall go,
  /// and none of that kind shall come (ladder step 0).
  [[nodiscard]] bool trims(TimePoint now) const { return trims_until_ && now < *trims_until_; }

  [[nodiscard]] const node_agent::Decision& decision() const { return controller_.decision(); }

  /// Bytes that may start between this look and the next; at most what the machine has, where that
  /// is known.
  [[nodiscard]] std::int64_t admit_bytes() const;

  [[nodiscard]] const std::optional<node_agent::NodeMemory>& memory() const {
    return controller_.seen().memory;
  }

  /// Bytes that are kept free.
  [[nodiscard]] std::int64_t reserve_bytes() const { return settings_.reserve; }

  /// What all replicas held at the last look, in bytes.
  [[nodiscard]] std::int64_t replicas_bytes() const;

  /// What is slowed down or held, with the reason.
  [[nodiscard]] std::vector<node_agent::HeldThrottle> held() const { return controller_.held(); }

  /// What the named replica held at the last look.
  [[nodiscard]] std::optional<std::int64_t> bytes_of(const std::string& replica) const;

  /// The replica that `container` of an action means.
  [[nodiscard]] static std::string replica_of(const std::string& container);

 private:
  [[nodiscard]] node_agent::Container container_of(const ReplicaSeen& replica, TimePoint now) const;
  void learn(const std::vector<ReplicaSeen>& replicas);

  node_agent::PolicySettings settings_;
  node_agent::MemoryController controller_;
  std::map<std::string, std::int64_t> largest_;  // seen of a ready replica, by revision
  std::optional<TimePoint> looked_at_;
  std::optional<TimePoint> trims_until_;
  bool measured_ = false;  // the machine, once
};

}  // namespace sluice::local
