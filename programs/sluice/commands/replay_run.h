#pragma once

#include "autoscaler/core/recording/replay.h"
#include "autoscaler/io/recording_json.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/commands/scaling_change.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::commands {

/// What one of two decided.
struct TimelineSide {
  std::int32_t want = 0;
  std::string mode = {};
  std::string bound_by = {};

  friend bool operator==(const TimelineSide&, const TimelineSide&) = default;
};

/// One evaluation: as recorded, and as this build decides it with the settings that were asked for.
struct TimelineRow {
  TimePoint at{};
  std::int32_t ready = 0;
  double stable = 0;
  double panic = 0;
  TimelineSide recorded = {};
  TimelineSide decided = {};
};

/// What a decision has of a key, there and here. Null: it has none.
struct FieldDifference {
  std::string key;
  nlohmann::json recorded;
  nlohmann::json decided;
};

/// A decision that is another one here.
struct DecisionDifference {
  std::uint64_t line = 0;
  std::uint64_t number = 0;  ///< of the decision, from 1
  TimePoint at{};
  std::vector<FieldDifference> fields = {};
};

/// How much there was of a timeline.
struct TimelineTotals {
  double replica_seconds = 0;
  std::int32_t most = 0;
};

/// Replays a recording line by line.
class ReplayRun {
 public:
  /// Sees each evaluation as it is replayed; null: it is not called.
  using Watcher = std::function<void(const TimelineRow&)>;

  /// `edits`: empty to decide with what was recorded.
  ReplayRun(ScalingEdits edits, Watcher watcher);

  /// Takes the next line of the text. The problem is why the recording cannot be replayed on.
  [[nodiscard]] std::optional<std::string> take(const std::string& line);

  /// Why the other settings cannot be in force, when that is the problem of the first line.
  [[nodiscard]] const std::optional<std::string>& wrong_settings() const { return wrong_settings_; }

  /// The first line was read.
  [[nodiscard]] bool begun() const { return replay_.has_value(); }

  /// Of that line.
  [[nodiscard]] const autoscaler::RecordingHead& head() const { return head_; }

  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }

  [[nodiscard]] std::uint64_t differing() const { return differing_; }

  /// Not looked for with other settings.
  [[nodiscard]] const std::optional<DecisionDifference>& first_difference() const { return first_; }

  /// Lines that a newer sluice wrote, of types that are not known here.
  [[nodiscard]] std::uint64_t passed_over() const { return passed_over_; }

  [[nodiscard]] const TimelineTotals& recorded() const { return recorded_; }

  [[nodiscard]] const TimelineTotals& decided() const { return decided_; }

  /// Seconds that were observed, and those of them in which requests waited for a replica: what
  /// they show is how many replicas there were, and not how much load.
  [[nodiscard]] std::int64_t observed_s() const;
  [[nodiscard]] std::int64_t saturated_s() const;

 private:
  [[nodiscard]] std::optional<std::string> begin(const nlohmann::json& document);
  void compare(const nlohmann::json& recorded, const autoscaler::DecisionRecord& decided);
  void follow(const nlohmann::json& recorded, const autoscaler::DecisionRecord& decided);
  void count(const autoscaler::RecordedInput& input);

  ScalingEdits edits_;
  Watcher watcher_;
  std::optional<autoscaler::Replay> replay_;
  autoscaler::RecordingHead head_;
  std::optional<std::string> wrong_settings_;
  std::uint64_t lines_ = 0;
  std::uint64_t decisions_ = 0;
  std::uint64_t differing_ = 0;
  std::uint64_t passed_over_ = 0;
  std::optional<DecisionDifference> first_;
  std::optional<TimelineRow> before_;
  TimelineTotals recorded_;
  TimelineTotals decided_;
  // By the seconds of requests that were recorded; where there are none, by the evaluations.
  std::int64_t seconds_ = 0;
  std::int64_t seconds_held_ = 0;
  Duration evaluated_{0};
  Duration evaluated_full_{0};
};

}  // namespace sluice::commands
