#pragma once

#include "memory-pressure/core/action.h"
#include "memory-pressure/core/node.h"
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

/// A container in the freezer, or on its way in or out. Times are the reconciler's own, unless said
/// otherwise.
struct Frost {
  Container container;
  std::string cgroup;
  bool wanted = false;
  std::optional<bool> frozen;  ///< as far as known; absent: either
  std::uint64_t call = 0;      ///< in flight; 0: none
  bool sent = false;           ///< what that call writes
  TimePoint called_at;
  TimePoint answered_at;
  std::uint32_t failures = 0;  ///< in a row
  std::uint32_t thaws = 0;     ///< by another program
  TimePoint next_try;
  TimePoint since;  ///< by the observations' clock
  std::string why;
};

/// Makes the kernel's freezer what a decision requires. Written down before the write, thawed the
/// oldest container first, and kept until the write that thaws it has succeeded: who cannot be
/// thawed is tried again for as long as it is there.
class Freezes {
 public:
  explicit Freezes(ReconcilerSettings settings) : settings_(std::move(settings)) {}

  /// Takes over who was frozen by an earlier process.
  void adopt(const Recovery& recovery, const Observation& seen);

  void forget() { frosts_.clear(); }

  /// Moves on at `own`. `restoring`: all are thawed, one a second while memory is above the lower
  /// threshold: those that wake together grow together.
  void tick(const Decision& wanted, const Observation& seen, TimePoint own, bool restoring,
            Numbers& numbers, std::vector<Action>& actions);

  /// How long the call took; absent: it was none of these.
  std::optional<Duration> answered(std::uint64_t call, Outcome outcome, TimePoint own,
                                   TimePoint now, Numbers& numbers, std::vector<Action>& actions);

  /// The record could not be made durable, so nothing was written to the kernel.
  void journal_failed(const std::string& id, TimePoint own);

  [[nodiscard]] const std::map<std::string, Frost>& all() const { return frosts_; }

  /// It could not be frozen, so it has to be held in another way until it ends.
  [[nodiscard]] bool is_refused(const std::string& id) const { return refused_.contains(id); }

  /// The records of a compacted journal.
  [[nodiscard]] std::vector<JournalRecord> live_records(const Numbers& numbers) const;

 private:
  using Actions = std::vector<Action>;

  void want(const Decision& wanted, const Observation& seen, bool restoring);
  void look_at_kernel(const Observation& seen, TimePoint own, Actions& actions);
  void send(TimePoint own, bool one_a_second, Numbers& numbers, Actions& actions);
  void leave_alone(Frost& frost, const std::string& why, Actions& actions);
  [[nodiscard]] JournalRecord record(RecordKind kind, const std::string& id, const Frost& frost,
                                     TimePoint at, const Numbers& numbers) const;
  void write(RecordKind kind, const std::string& id, const Frost& frost, TimePoint at,
             Numbers& numbers, Actions& actions) const;

  ReconcilerSettings settings_;
  std::map<std::string, Frost> frosts_;
  std::set<std::string> refused_;
  std::optional<TimePoint> thawed_at_;  // while restoring
};

}  // namespace sluice::node_agent
