#pragma once

#include "common/log/log.h"
#include "common/loop/loop.h"

#include "platform/process/cgroup.h"
#include "platform/process/cpu_use.h"
#include "platform/process/machine_memory.h"
#include "platform/process/memory_rules.h"
#include "platform/process/process_groups.h"
#include "platform/process/service_spec.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// A running replica as its revision knows it.
struct TenantReplica {
  std::string id;
  pid_t pid = -1;  ///< of the app, leader of its group
  TimePoint started;
  bool ready = false;
  bool leaving = false;
  bool busy = false;       ///< a request is in flight, or waits for a replica
  std::uint64_t sent = 0;  ///< requests so far; another figure: there was one since
  bool holdable = false;   ///< it may be stopped while it is ready and not busy
  bool held = false;       ///< by on_held()
  /// Of one in a container, whose processes and limits are not ours to group and change.
  std::optional<std::int64_t> container_bytes{};
};

/// Who has replicas: a revision.
class MemoryTenant {
 public:
  MemoryTenant() = default;
  MemoryTenant(const MemoryTenant&) = delete;
  MemoryTenant& operator=(const MemoryTenant&) = delete;
  virtual ~MemoryTenant() = default;

  [[nodiscard]] virtual const std::string& name() const = 0;

  /// Whose limits its replicas have.
  [[nodiscard]] virtual const ServiceSpec& spec() const = 0;

  /// Those whose app was started and has not ended.
  [[nodiscard]] virtual std::vector<TenantReplica> replicas() const = 0;

  /// A replica is slowed down from now on, or has got all back.
  virtual void on_throttled(const std::string& replica, bool throttled, const std::string& why) = 0;

  /// The processes of a replica are to be stopped until a request comes, or to run on. False: a
  /// request is in flight meanwhile, and it runs.
  [[nodiscard]] virtual bool on_held(const std::string& replica, bool held) = 0;

  /// The last resort: this replica shall be stopped. False when that would end requests that no
  /// other replica could serve.
  [[nodiscard]] virtual bool on_sacrifice(const std::string& replica, bool emergency,
                                          const std::string& why) = 0;

  /// After each look: who was refused may ask again, who is idle may have to go.
  virtual void on_room() = 0;
};

/// What the memory rules have done so far.
struct MemoryCounts {
  std::uint64_t refused_starts = 0;  ///< times that the gate said no for want of memory
  std::uint64_t throttles = 0;       ///< quotas that were set
  std::uint64_t releases = 0;        ///< quotas that were given back
  std::uint64_t sacrifices = 0;
  std::uint64_t failures = 0;  ///< quotas that could not be written
  std::uint64_t holds = 0;     ///< times that a replica without requests was stopped
};

/// Keeps an engine's replicas out of each other's memory (one-machine.md 6): looks at the machine
/// while there are replicas, asks the rules, carries out what they say. Belongs to the engine's
/// thread. What it throttles ends with the replica's own group, so nothing survives the engine.
class MemoryPressure {
 public:
  /// Publishes a warning: what, and the fix.
  using Warn = std::function<void(const std::string&, const std::string&)>;

  /// All outlive this. `cgroups` are detected before open().
  MemoryPressure(Loop& clock, const log::Logger& log, const CgroupTree& cgroups);
  MemoryPressure(const MemoryPressure&) = delete;
  MemoryPressure& operator=(const MemoryPressure&) = delete;
  ~MemoryPressure();

  /// Begins with what `source` says is the machine (MachineMemory::open). Before that, and where
  /// there is nothing to read, every replica may start.
  [[nodiscard]] std::optional<Problem> open(const std::string& source, Warn warn);

  /// A tenant's revision exists; it goes by leave().
  void enter(MemoryTenant& tenant) { tenants_.push_back(&tenant); }

  void leave(MemoryTenant& tenant);

  /// Whether the named replica of `tenant` may start now. After a no, on_room() is the moment to
  /// ask again.
  [[nodiscard]] GateAnswer ask(const MemoryTenant& tenant, const std::string& replica);

  /// Bytes that one replica of `tenant` claims: its limit, else what one held at most, else
  /// kDefaultClaim.
  [[nodiscard]] std::int64_t claim(const MemoryTenant& tenant) const;

  /// Bytes of the machine, as the last look has seen it; 0: it has seen none.
  [[nodiscard]] std::int64_t capacity() const;

  /// A ready replica counts as resting after so long without a request.
  static constexpr Duration kRestsAfter = std::chrono::seconds{1};

  /// A request has let the replica go, which was held.
  void used(const std::string& replica);

  /// The replica is started in a control group of its own in `groups`, those of a group of the
  /// machine; until ended(). They outlive it.
  void grouped(const std::string& replica, const CgroupTree& groups) {
    trees_.insert_or_assign(replica, &groups);
  }

  /// A program of a replica runs: there is something to watch.
  void launched() { arm(); }

  /// The replica is gone, or was not started after all.
  void ended(const std::string& replica);

  /// Replicas that the load does not need are to go, and none of them to come.
  [[nodiscard]] bool trims() const { return rules_ && rules_->trims(clock_.now()); }

  /// Of the named replica, in bytes, if a look has just seen it.
  [[nodiscard]] std::optional<std::int64_t> bytes_of(const std::string& replica) const;

  /// What replicas use of the CPU is measured from now on, of those in containers nothing.
  void measure_cpu() { cpu_.emplace(); }

  /// Of the named replica, in thousandths of a core; absent: it was not measured, or not yet.
  [[nodiscard]] std::optional<std::int64_t> cpu_of(const std::string& replica) const {
    return cpu_ ? cpu_->millicores(replica) : std::nullopt;
  }

  /// The state of the rules, from a look that is not older than a second; null: nothing can be
  /// read.
  [[nodiscard]] const MemoryRules* rules();

  /// The same from the last look, however old that is; null: nothing can be read.
  [[nodiscard]] const MemoryRules* last_seen() const { return rules_ ? &*rules_ : nullptr; }

  [[nodiscard]] const MemoryCounts& counts() const { return counts_; }

  /// One look with all that follows; the timer's work.
  void look();

 private:
  struct Subject {
    MemoryTenant* tenant = nullptr;
    pid_t pid = -1;
    TimePoint busy_at;       ///< not ready, or with a request
    std::uint64_t sent = 0;  ///< as in TenantReplica
    bool contained = false;  ///< its processes are not those of `pid`
  };

  [[nodiscard]] std::vector<node_agent::Action> observe();
  [[nodiscard]] std::vector<ReplicaSeen> gather(TimePoint now);
  void find_members(TimePoint now);
  void read_cpu(TimePoint now);
  [[nodiscard]] bool counts_cpu_by_group(const std::string& replica) const;
  void sample_if_stale();
  void tell_throttled();
  void carry_out(std::vector<node_agent::Action> actions);
  [[nodiscard]] node_agent::Outcome write(const node_agent::Update& update);
  [[nodiscard]] node_agent::Outcome hold(const node_agent::Freeze& freeze);
  [[nodiscard]] const CgroupTree& tree_of(const std::string& replica) const;
  [[nodiscard]] bool has_group(const std::string& replica, const ServiceSpec& spec) const;
  [[nodiscard]] std::optional<node_agent::CpuQuota> quota_of(const std::string& replica,
                                                             const ServiceSpec& spec) const;
  void sacrifice(const node_agent::Stop& stop);
  void note_pressure(node_agent::Pressure before);
  void arm();

  Loop& clock_;
  const log::Logger& log_;
  const CgroupTree& cgroups_;
  Warn warn_;
  std::optional<MachineMemory> machine_;
  std::optional<MemoryRules> rules_;
  std::vector<MemoryTenant*> tenants_;                     // each leaves before it goes
  std::map<std::string, Subject> subjects_;                // by replica id, as last seen
  std::map<std::string, const CgroupTree*> trees_;         // of replicas that are grouped()
  std::map<std::string, node_agent::MemoryGroup> groups_;  // of replicas that have one
  ProcessGroups processes_;
  std::optional<TimePoint> members_found_;
  std::optional<CpuUse> cpu_;  // absent: it is not measured
  std::optional<TimePoint> cpu_read_;
  std::map<std::string, std::string> told_;  // throttled replicas whose tenants know it, with why
  std::unique_ptr<Timer> timer_;
  MemoryCounts counts_;
  bool armed_ = false;
  bool warned_ = false;  // that no replica can be throttled
};

}  // namespace sluice::local
