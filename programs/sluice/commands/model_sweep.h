#pragma once

#include "common/base/result.h"

#include "load/core/expression.h"
#include "programs/sluice/commands/replay_report.h"
#include "programs/sluice/simulation/world.h"
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::commands {

/// The settings that a simulation is repeated with: `--sweep target=10,20 --sweep window=30s,60s`.
class Sweep {
 public:
  /// Runs of one command.
  static constexpr std::size_t kRunsMax = 1000;

  /// Each of `sweeps` is KEY=VALUE,VALUE…, each key once. Whether there are such keys and values is
  /// for ScalingEdits to say.
  [[nodiscard]] static Result<Sweep, Problem> parse(const std::vector<std::string>& sweeps);

  /// What of `sets`, KEY=VALUE each, has a key of ours; nothing if none has.
  [[nodiscard]] std::optional<Problem> conflict_with(const std::vector<std::string>& sets) const;

  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }

  /// The values of each run, in the order of the keys; those of the last key change first.
  [[nodiscard]] std::vector<std::vector<std::string>> runs() const;

 private:
  std::vector<std::string> keys_;
  std::vector<std::vector<std::string>> values_;  // of each key
};

/// What a run has to reach: `--goal 'wait.p99 < 200ms'`.
class Goal {
 public:
  /// The figures are wait.p0 to wait.p99.99, wait.max, refused, cold_starts, panics, replicas.max
  /// and replica_seconds.
  [[nodiscard]] static Result<Goal, Problem> parse(std::string_view text);

  [[nodiscard]] bool met(const simulation::Outcome& outcome) const;

  [[nodiscard]] const std::string& text() const { return condition_.text; }

 private:
  enum class Figure : std::uint8_t {
    wait,
    wait_max,
    refused,
    cold_starts,
    panics,
    replicas_max,
    replica_seconds
  };

  [[nodiscard]] bool find_figure(std::string_view name);
  [[nodiscard]] double actual(const simulation::Outcome& outcome) const;

  loadgen::Condition condition_;
  Figure figure_ = Figure::wait;
  double percent_ = 0;
  double limit_ = 0;  // times in seconds
};

/// A run of a sweep.
struct SweepRow {
  std::vector<std::string> values = {};
  double replica_seconds = 0;
  std::int32_t most_replicas = 0;
  std::uint64_t cold_starts = 0;
  std::uint64_t panics = 0;
  double wait_p50_ms = 0;
  double wait_p99_ms = 0;
  std::uint64_t refused = 0;
  bool meets_goal = true;  ///< without a goal: all do
  /// No other run is as good in replica-seconds, p99 of the wait and refused, and better in one.
  bool unbeaten = false;
};

[[nodiscard]] SweepRow sweep_row(std::vector<std::string> values,
                                 const simulation::Outcome& outcome);

/// Sets SweepRow::unbeaten of all.
void mark_unbeaten(std::vector<SweepRow>& rows);

/// The run with the fewest replica-seconds, the first of equal ones, among those that meet the
/// goal; nothing: none does.
[[nodiscard]] std::optional<std::size_t> cheapest(const std::vector<SweepRow>& rows);

/// Prints the table. `goal`: null where there is none.
void print_sweep(std::ostream& out, ReplayFormat format, const std::vector<std::string>& keys,
                 const std::vector<SweepRow>& rows, const Goal* goal);

}  // namespace sluice::commands
