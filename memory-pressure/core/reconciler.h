#pragma once

#include "memory-pressure/core/action.h"
#include "memory-pressure/core/freezes.h"
#include "memory-pressure/core/hold.h"
#include "memory-pressure/core/latency.h"
#include "memory-pressure/core/node.h"
#include "memory-pressure/core/own_time.h"
#include "memory-pressure/core/policy.h"
#include "memory-pressure/core/reconciler_settings.h"
#include "memory-pressure/core/recovery.h"
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::node_agent {

/// A throttle in force or on its way, for reports and people.
struct HeldThrottle {
  Container container;
  CpuQuota original;
  CpuQuota quota;
  TimePoint since;
  std::uint32_t ladder_step = 0;
  bool frozen = false;  ///< held by the freezer; `quota` is what it has
  bool releasing = false;
  bool in_force = false;  ///< seen in the kernel
  std::string why;
};

/// Makes the kernel's quotas and freezers what a decision requires, and the originals what they
/// were. Driven by levels: each tick compares what is wanted with what is known, so that any answer
/// may be lost or late. Writes down every original before it is replaced, and keeps it until the
/// kernel shows it again. One call at a time per container (memory-pressure.md 5.7, 5.8).
class Reconciler {
 public:
  explicit Reconciler(ReconcilerSettings settings);

  /// Takes over what an earlier run left throttled. The ticks that follow keep or release it.
  void adopt(const Recovery& recovery, const Observation& seen);

  /// Another process has restored the quotas: all known kernel values are void. To be followed by
  /// adopt().
  void forget();

  /// The actions that bring the node nearer to `wanted`, in order.
  [[nodiscard]] std::vector<Action> tick(const Decision& wanted, const Observation& seen);

  /// An update, a freeze or a stop has ended at `now` of the observations' clock. Unknown calls are
  /// ignored.
  [[nodiscard]] std::vector<Action> answered(std::uint64_t call, Outcome outcome, TimePoint now);

  /// A read-back has ended; absent: unreadable.
  [[nodiscard]] std::vector<Action> read_back(std::uint64_t call,
                                              const std::optional<CpuQuota>& in_kernel,
                                              TimePoint now);

  /// A record could not be made durable, so what it announced was not done.
  void journal_failed(const std::string& id);

  /// From now on everything is given back, whatever is wanted; `resume` ends that.
  void restore_all() { restoring_ = true; }

  void resume() { restoring_ = false; }

  /// Every container has its original again, or what the pod's own limit leaves of it, and no call
  /// of this run can change that.
  [[nodiscard]] bool is_restored() const;

  /// The runtime did not answer the last call.
  [[nodiscard]] bool is_degraded() const { return backoff_ > Duration::zero(); }

  [[nodiscard]] std::vector<HeldThrottle> held() const;

  /// Whether the journal lists anything of ours.
  [[nodiscard]] bool holds_any() const { return !holds_.empty() || !freezes_.all().empty(); }

  /// Whether the freezer cannot hold it.
  [[nodiscard]] bool is_freezer_refused(const std::string& id) const {
    return freezes_.is_refused(id);
  }

  /// What nine of ten holds and releases took of late; absent: none has ended yet.
  [[nodiscard]] std::optional<Duration> update_latency() const { return latency_.p90(); }

  /// The contents of a compacted journal.
  [[nodiscard]] std::vector<JournalRecord> live_records(TimePoint now) const;

 private:
  struct Victim {
    Sacrifice order;
    bool stopping = false;
    std::uint64_t call = 0;
    TimePoint since;
  };

  using Actions = std::vector<Action>;

  void drop_gone(const Observation& seen, Actions& actions);
  void take_returned(const Observation& seen);
  void want(const Decision& wanted, const Observation& seen);
  void hold(const Throttle& throttle, const Container& container, TimePoint now);
  void pursue_victim(const Decision& wanted, const Observation& seen);
  void stop_victim(TimePoint now, Actions& actions);
  void look_at_kernel(const Observation& seen, Actions& actions);
  void end_overdue_calls(Actions& actions);
  void send_updates(TimePoint now, Actions& actions);
  [[nodiscard]] Update send(Hold& hold, TimePoint now, Actions& actions);
  void read(Hold& hold, Actions& actions);
  void note_answer(Hold& hold, Outcome outcome, Actions& actions);
  void back_off(Hold& hold);
  void forget_given_back(TimePoint now, Actions& actions);
  void clamp_to_pod(Hold& hold, Actions& actions);
  [[nodiscard]] JournalRecord record(RecordKind kind, const Hold& hold, TimePoint now) const;
  void write(RecordKind kind, const Hold& hold, TimePoint now, Actions& actions);
  [[nodiscard]] Hold* by_call(std::uint64_t call);

  ReconcilerSettings settings_;
  OwnTime time_;
  TimePoint own_;  ///< the reconciler's own time at the last input
  std::map<std::string, Hold> holds_;
  std::set<std::string> left_alone_;  ///< until they end
  /// What containers had that were gone from the list while we held them, and when that was.
  std::map<std::string, std::pair<CpuQuota, TimePoint>> gone_;
  std::optional<Victim> victim_;
  std::vector<HeldThrottle> dry_;
  Numbers numbers_{};
  Freezes freezes_;
  Latency latency_;
  Duration backoff_{};
  TimePoint next_call_at_;
  bool restoring_ = false;
};

}  // namespace sluice::node_agent
