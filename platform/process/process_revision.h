#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "autoscaler/placement/core/grant.h"
#include "common/base/ids.h"
#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/log/log.h"
#include "common/loop/loop.h"
#include "common/model/revision.h"

#include "platform/process/backoff.h"
#include "platform/process/engine_settings.h"
#include "platform/process/memory_pressure.h"
#include "platform/process/replica.h"
#include "platform/process/replica_events.h"
#include "platform/process/service_log.h"
#include "platform/process/service_spec.h"
#include "platform/process/start_pace.h"
#include "platform/process/start_times.h"
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// Requests as the activator of the same process has them at this moment.
class RequestsNow {
 public:
  virtual ~RequestsNow() = default;

  /// Sent to the pod and not answered.
  [[nodiscard]] virtual std::int64_t on_pod(const RevisionId& revision, const PodId& pod) const = 0;

  /// All that have been sent to the pod. May fall when a revision no longer has it.
  [[nodiscard]] virtual std::uint64_t sent_to(const RevisionId& revision,
                                              const PodId& pod) const = 0;

  /// Held for want of a pod.
  [[nodiscard]] virtual std::int64_t waiting(const RevisionId& revision) const = 0;

  /// The replica at `address` is stopped from now on, or no more: its revision's on_request() comes
  /// before the next request is sent to it.
  virtual void hold(const net::Address& address, bool held) = 0;
};

/// Makes a replica of `plan`, of which spec, revision, id and program are set. A problem, such as a
/// port that is taken, counts as a failed start.
using MakeReplica =
    std::function<Result<std::unique_ptr<Replica>, Problem>(ReplicaOwner& owner, ReplicaPlan plan)>;

/// What the revisions of one platform share. All of it outlives them.
struct ProcessMeans {
  Loop& loop;
  const EngineSettings& settings;
  MemoryPressure& memory;
  RequestsNow& requests;
  ReplicaEvents& events;
  const log::Logger& log;  ///< the engine's
  MakeReplica make;
  std::function<void(const Replica&)> started = {};  ///< its processes run; for the journal
  std::function<void(const Replica&)> ended = {};
  std::int32_t replicas = 0;  ///< that exist now, over all services
  StartPace pace;
};

/// The name of the revision that a replica of that name is of.
[[nodiscard]] std::string revision_of(const PodId& replica);

/// A Unix socket as an address.
[[nodiscard]] net::Address socket_at(const std::filesystem::path& path);

class ProcessRevision;

/// Gets the events on which the platform must act. Never from within a call into the revision but
/// for on_changed().
class ProcessRevisionOwner {
 public:
  virtual ~ProcessRevisionOwner() = default;
  virtual void on_changed(ProcessRevision& revision) = 0;  ///< model() says something else
  virtual void on_ready(ProcessRevision& revision) = 0;    ///< a replica of it is ready
  virtual void on_failing(ProcessRevision& revision) = 0;  ///< StartBackoff::kFailingAfter failed

  /// A start has come to its end, or more are to come: a turn of StartPace may be due.
  virtual void on_pace() = 0;

  /// The next replica starts after something else has ended: another one that has its fixed port,
  /// or a move of the revision whose place it is to take.
  [[nodiscard]] virtual bool waits_for_others(const ProcessRevision& revision) const = 0;
};

/// One revision of a service as processes: makes what is ordered of it true, one replica after the
/// other, and says what there is.
class ProcessRevision final : public ReplicaOwner, public MemoryTenant {
 public:
  struct Facts {
    std::string name;  ///< app-00001
    int number = 1;    ///< at the end of the name
    ServiceSpec spec;
    std::filesystem::path program;
    std::optional<std::int32_t> initial;  ///< as model::Revision::initial
    bool keeps_some = false;              ///< its minimum is above 0
    /// The fixed port of `spec` is its containerPort: its program was found there.
    bool port_was_found = false;
  };

  struct Counts {
    std::int32_t ready = 0;
    std::int32_t starting = 0;
    std::int32_t draining = 0;
  };

  /// `means`, `owner` and `log` outlive this.
  ProcessRevision(ProcessMeans& means, ProcessRevisionOwner& owner, ServiceLog& log, Facts facts);
  ~ProcessRevision() override;
  ProcessRevision(const ProcessRevision&) = delete;
  ProcessRevision& operator=(const ProcessRevision&) = delete;

  [[nodiscard]] const std::string& name() const override { return facts_.name; }

  [[nodiscard]] const ServiceSpec& spec() const override { return facts_.spec; }

  [[nodiscard]] bool port_was_found() const { return facts_.port_was_found; }

  /// template_hash() of the spec as it was given.
  [[nodiscard]] std::string written_hash() const;

  [[nodiscard]] RevisionId id() const { return {"default", facts_.name}; }

  [[nodiscard]] int number() const { return facts_.number; }

  /// What exists of it. Its hosts, its annotations and whether it is in service are the platform's
  /// to add.
  [[nodiscard]] model::Revision model() const;

  /// What of it shall run from now on; what is chosen to go drains first.
  void order(const autoscaler::ScaleOrder& order);

  /// A request waits: what is worth a try only for a request is tried now.
  void demand();

  /// Its turn has come (StartPace).
  void resume() { reconcile(); }

  /// model() goes to the activator now.
  void begin_report();

  /// What model() said since begin_report() is in force at the activator: no new request comes to
  /// those that left by then.
  void reported();

  /// The last request on the pod at `address` has ended, which leaves.
  void on_pod_drained(const std::string& address);

  /// A request is about to be sent to the replica at `address`, which is held: it runs on.
  void on_request(const std::string& address);

  /// What makes no new revision is that of `spec` from now on.
  void update(const ServiceSpec& spec, bool keeps_some);

  /// Another revision serves from now on: this one starts nothing any more, and keeps `replicas`
  /// that share the requests of its successor until that one has as many. 0: all of it goes.
  void hand_over(std::int32_t replicas);

  /// It starts nothing any more, and all of its replicas go.
  void retire() { hand_over(0); }

  /// It gets requests of its own again, and starts what is ordered.
  void take_back();

  /// Stops (or with `kill` kills) every replica now, whatever it serves.
  void stop_all(bool kill);

  /// Called each second.
  void tick() { backoff_.tick(means_.loop.now()); }

  /// How many replicas it may have, whatever it wants, and why.
  struct Limit {
    std::int32_t replicas = 0;
    std::string what{};
    std::string fix{};
  };

  /// Site::terms for this revision. Replicas that live stay within `most`.
  [[nodiscard]] placement::Site::Terms terms(const placement::RevisionDemand& demand,
                                             const std::optional<Limit>& most);

  /// Whether the `nth` of the replicas that terms() has let start now may start; a yes reserves its
  /// memory.
  [[nodiscard]] GateAnswer may_start(std::int32_t nth);

  /// Takes or, when it was the gate that refused one more replica, completes why. `for_good`: no
  /// waiting helps.
  void explain(bool by_gate, bool for_good, placement::Missing& missing);

  /// Why the pod is held back for want of memory; absent: it is not.
  [[nodiscard]] std::optional<std::string> throttled(const PodId& pod) const;

  /// Whether the pod is stopped until a request comes, because memory is short.
  [[nodiscard]] bool held(const PodId& pod) const;

  [[nodiscard]] Counts counts() const;

  [[nodiscard]] bool empty() const { return instances_.empty(); }

  [[nodiscard]] bool retired() const { return kept_ == 0; }

  /// How many replicas it should have.
  [[nodiscard]] std::int32_t ordered() const { return ordered_; }

  /// Of those, the ones that a move adds to as many that leave.
  [[nodiscard]] std::int32_t beside() const { return beside_; }

  /// As ordered last: a move leads its requests to other replicas of it.
  [[nodiscard]] bool shifting() const { return shifting_; }

  /// Why no replica of it is ready, or why one more that is wanted is not; absent: nothing of it is
  /// amiss, or it is asleep.
  [[nodiscard]] std::optional<Cause> not_ready() const;

  /// Why the last start of it failed.
  [[nodiscard]] const std::optional<Cause>& last_failure() const { return last_failure_; }

  /// Why some of the replicas that it wants beside those that are ready may not start.
  [[nodiscard]] std::optional<Cause> shortage() const;

  /// How many of its replicas ended by themselves after they were ready.
  [[nodiscard]] std::int64_t ended() const { return ended_; }

  /// Why the last of those did; absent: that is long ago, or nothing of it has been wanted since.
  [[nodiscard]] std::optional<Cause> restarts() const;

  /// Those that are ready and take requests, as model() has them.
  [[nodiscard]] std::vector<model::Pod> serving() const;

  /// A replica of it exists that is to go, or has ended.
  [[nodiscard]] bool drains() const;

  [[nodiscard]] bool failing() const { return backoff_.failing(); }

  /// CPU that its replicas use, in thousandths of a core; absent: one of those that are ready has
  /// not been measured, or none is ready.
  [[nodiscard]] std::optional<std::int64_t> cpu_used() const;

  /// The same of those in the place that have been measured.
  [[nodiscard]] std::int64_t cpu_used_in(const std::string& place) const;

  /// How long a replica of it takes until it is ready; absent: none has become ready.
  [[nodiscard]] std::optional<Duration> usual_start() const { return starts_.usual(); }

  /// When the first of its replicas that are ready reached each step, and when the start from
  /// nothing that it belongs to was ordered; null when none is ready.
  struct FirstStart {
    const Replica* replica = nullptr;
    std::optional<TimePoint> noticed{};
  };

  [[nodiscard]] FirstStart first_start() const;

  /// Null when there is none of that name.
  [[nodiscard]] const Replica* replica(const PodId& pod) const;

  /// Which start of a replica of the service it is, as its log counts them; 0: it does not exist.
  [[nodiscard]] std::int64_t start_of(const std::string& replica) const;

  void on_ready(Replica& replica) override;
  void on_start_failed(Replica& replica, const ReplicaEnd& end) override;
  void on_exited_after_ready(Replica& replica, const ReplicaEnd& end) override;
  void on_stopped(Replica& replica) override;
  void on_output(Replica& replica, OutputSource source, std::string_view line) override;
  void on_launched(Replica& replica) override;
  void on_waiting(Replica& replica, const Cause& cause) override;
  void on_settled_elsewhere(Replica& replica, const Cause& cause) override;

 private:
  void serve_at_container_port();

  struct Instance {
    std::unique_ptr<Replica> replica;
    std::int32_t number = 0;
    std::string place{};     // its group; empty: there is one place only
    std::int64_t start = 0;  // counted over all replicas of the service
    TimePoint begun{};
    std::optional<TimePoint> ready_at;
    std::unique_ptr<Timer> drain_timer;
    Duration drain_limit{0};         // once it leaves
    std::string why{};               // it leaves, when the load has not led to that
    bool leaving = false;            // gets no new requests, and ends with its last one
    bool told = false;               // that it leaves
    bool stopping = false;           // its stop has begun
    std::optional<Cause> settled{};  // it listens in the wrong place, and waits for requests there
    // Why it is held back; then it takes none while another can, and is no capacity.
    std::optional<std::string> throttled{};
    bool held = false;   // its processes are stopped until a request comes
    bool ended = false;  // failed or exited; only its remains are waited for

    [[nodiscard]] bool lives() const { return !leaving && !ended; }
  };

  [[nodiscard]] std::vector<TenantReplica> replicas() const override;
  void on_throttled(const std::string& replica, bool throttled, const std::string& why) override;
  [[nodiscard]] bool on_held(const std::string& replica, bool held) override;
  [[nodiscard]] bool on_sacrifice(const std::string& replica, bool emergency,
                                  const std::string& why) override;
  void on_room() override;
  [[nodiscard]] Instance& instance_of(const Replica& replica);
  [[nodiscard]] Instance* find(const std::string& replica) const;
  [[nodiscard]] std::optional<model::StartFailure> start_failure() const;
  [[nodiscard]] model::Pod pod_of(const Instance& instance) const;

  [[nodiscard]] bool starts_nothing() const { return stopped_ || kept_.has_value(); }

  [[nodiscard]] std::int32_t live() const;
  [[nodiscard]] std::string next_place() const;
  [[nodiscard]] std::int32_t needed(const placement::RevisionDemand& demand) const;
  [[nodiscard]] std::vector<std::int32_t> free_numbers(std::int32_t count) const;
  [[nodiscard]] std::string replica_id(std::int32_t number) const;
  void notice_start();
  void reconcile();
  [[nodiscard]] bool for_requests_only() const;
  [[nodiscard]] bool looks_for_port() const;
  [[nodiscard]] std::int32_t may_try(std::int32_t missing) const;
  [[nodiscard]] std::int32_t tries(std::int32_t missing) const;
  [[nodiscard]] bool has_requests() const;
  void start_settled(const std::string& replica);
  void start_some(std::int32_t missing);
  [[nodiscard]] GateAnswer ask_for_room(const std::string& replica);
  [[nodiscard]] bool start_one();
  void start_refused(const std::string& replica, const Problem& problem);
  [[nodiscard]] bool has_request(const Instance& instance) const;
  [[nodiscard]] bool is_holdable(const Instance& instance) const;
  void set_held(Instance& instance, bool held);
  [[nodiscard]] Instance* at(const std::string& address) const;
  void leave(Instance& instance, Duration longest, const std::string& why);
  void stop(Instance& instance);
  void retry_at(TimePoint when);

  ProcessMeans& means_;
  ProcessRevisionOwner& owner_;
  ServiceLog& log_;
  Facts facts_;
  StartBackoff backoff_;
  StartTimes starts_;
  std::vector<std::unique_ptr<Instance>> instances_;
  // Of those that are gone since the last report: another one of that name would be taken for it.
  std::vector<std::int32_t> gone_numbers_;
  std::unique_ptr<Timer> retry_;
  std::int32_t ordered_ = 0;
  std::vector<placement::PlaceShare> places_{};  // of those ordered; empty: there is one place only
  bool shifting_ = false;                        // as ordered
  std::int32_t beside_ = 0;                      // likewise
  std::optional<Cause> last_failure_;            // since then none became ready
  std::int64_t ended_ = 0;                       // by themselves, after they were ready
  std::optional<TimePoint> last_end_;            // of those, since it was last to sleep
  Cause last_end_cause_{};
  bool has_been_ready_ = false;               // a replica of it
  int taken_ports_ = 0;                       // starts in a row whose port another program took
  std::optional<TimePoint> noticed_;          // when the present start from nothing was ordered
  std::optional<Cause> no_room_;              // since the last terms(): why one more may not start
  bool trimmed_ = false;                      // then, replicas without load were to go
  std::int64_t reported_claim_ = 0;           // of memory, at the last begin_report()
  std::vector<std::int32_t> next_numbers_{};  // then: of those that may start
  std::optional<std::int32_t> kept_{};        // once another revision serves: how many stay
  bool stopped_ = false;                      // all of it
  Lifetime alive_;
};

}  // namespace sluice::local
