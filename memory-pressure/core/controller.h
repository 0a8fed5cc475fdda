#pragma once

#include "memory-pressure/core/action.h"
#include "memory-pressure/core/evictions.h"
#include "memory-pressure/core/foresight_policy.h"
#include "memory-pressure/core/headroom_policy.h"
#include "memory-pressure/core/node.h"
#include "memory-pressure/core/policy.h"
#include "memory-pressure/core/reconciler.h"
#include "memory-pressure/core/recovery.h"
#include "memory-pressure/core/start_gate.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// MakePolicy of the rule that the settings name; null when it is off.
[[nodiscard]] std::unique_ptr<Policy> make_rule(const PolicySettings& settings);

/// The memory rules of one node (memory-pressure.md 5): policy, start gate and reconciler with what
/// they keep. An observation goes in, a decision and the actions that follow come out; the
/// answers of calls go in. The node agent, `sluice up` and the simulated node differ in how they
/// look and in how they carry out. Belongs to one thread.
class MemoryController {
 public:
  struct Options {
    PolicySettings policy;
    std::string boot_id{};
    bool dry_run = false;
    bool strays = true;  ///< also gives back throttles that no record of an intact journal explains
    MakePolicy make_policy = make_rule;
  };

  explicit MemoryController(const Options& options);

  /// Takes over what the journal of an earlier process lists of what is seen; before the first
  /// observation. What was found.
  Recovery take_over(std::string_view journal, const Observation& seen);

  /// Another process may have given back what is held: all that is known of the kernel is void. To
  /// be followed by take_over().
  void forget() { reconciler_.forget(); }

  /// What the rule has learned about kinds of containers, as lines of text to be kept for the next
  /// process; empty: nothing.
  [[nodiscard]] std::string learned() const { return policy_ ? policy_->learned() : ""; }

  /// Takes what an earlier process had learned; before the first observation.
  void learn(std::string_view lines) {
    if (policy_) policy_->learn(lines);
  }

  /// Decides by what is seen; what to do, in order. Called at every sample, and at once when a
  /// container is born. `seen.evicted` and `seen.update_latency` are set here; who has no process
  /// left is left out.
  [[nodiscard]] std::vector<Action> observe(Observation seen);

  /// An update, a freeze or a stop has ended; what follows.
  [[nodiscard]] std::vector<Action> answered(std::uint64_t call, Outcome outcome, TimePoint now) {
    return reconciler_.answered(call, outcome, now);
  }

  /// A read-back has ended; absent: unreadable.
  [[nodiscard]] std::vector<Action> read_back(std::uint64_t call,
                                              const std::optional<CpuQuota>& in_kernel,
                                              TimePoint now) {
    return reconciler_.read_back(call, in_kernel, now);
  }

  /// A record could not be made durable, so what it announced was not done.
  void journal_failed(const std::string& id) { reconciler_.journal_failed(id); }

  /// A container has ended, or the sandbox of a pod: whether that looks like an eviction.
  [[nodiscard]] bool container_ended(const std::string& pod_uid, const Ending& ending,
                                     TimePoint now);
  [[nodiscard]] bool pod_ended(const std::string& pod_uid, TimePoint now);

  /// Off: everything is given back and nothing throttled or refused from the next observation on.
  void switch_on(bool on);

  [[nodiscard]] bool is_on() const { return on_; }

  /// The start gate: whether the container of pod `pod_uid`, which will claim so many bytes, may
  /// start. A grant reserves the claim until an observation shows its memory, `ended` is called or
  /// a minute has passed.
  [[nodiscard]] GateAnswer ask(const std::string& pod_uid, std::int64_t claim, TimePoint now) {
    return gate_.ask(pod_uid, claim, now);
  }

  /// It is gone, or was not started after all.
  void ended(const std::string& pod_uid) { gate_.settled(pod_uid); }

  /// From one observation to the next.
  [[nodiscard]] Duration next_sample() const;

  /// The least between two: what was decided no longer fits, or something is being given back.
  [[nodiscard]] Duration soonest_sample() const;

  /// Memory is near a bound or something is throttled: observations are dense.
  [[nodiscard]] bool is_tight() const;

  /// So tight, or nearly, that the list of containers must be fresh too.
  [[nodiscard]] bool is_hurried() const;

  /// Memory is short and there is nothing that may be throttled (rows 5 and 6).
  [[nodiscard]] bool is_blocked() const;

  [[nodiscard]] const Observation& seen() const { return seen_; }

  [[nodiscard]] const Decision& decision() const { return decision_; }

  /// What is throttled, from the decision until the kernel shows the original again.
  [[nodiscard]] std::vector<HeldThrottle> held() const { return reconciler_.held(); }

  /// Whether the journal lists anything of ours.
  [[nodiscard]] bool holds_any() const { return reconciler_.holds_any(); }

  /// The contents of a compacted journal.
  [[nodiscard]] std::vector<JournalRecord> live_records(TimePoint now) const {
    return reconciler_.live_records(now);
  }

  /// Everything was given back, and no call can change that any more.
  [[nodiscard]] bool is_restored() const { return reconciler_.is_restored(); }

  /// The runtime did not answer the last call.
  [[nodiscard]] bool is_degraded() const { return reconciler_.is_degraded(); }

 private:
  [[nodiscard]] Decision look_on() const;
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] bool is_used_beyond(double share) const;

  PolicySettings settings_;
  std::string boot_id_;
  bool strays_;
  std::unique_ptr<Policy> policy_;  // null: it is off for good
  Reconciler reconciler_;
  StartGate gate_;
  Evictions evictions_;
  Observation seen_;
  Decision decision_;
  bool evicted_ = false;  // a pod, since the last observation
  bool on_ = true;
};

}  // namespace sluice::node_agent
