#pragma once

#include "autoscaler/core/decision/revision_scaler.h"
#include "autoscaler/core/recording/recorded_input.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice::autoscaler {

/// The spec to replay with in place of a recorded one; null `given`: it is not known what that was
/// resolved from.
using ScalingChange = std::function<ScalingSpec(const ScalingSpec&, const GivenScaling* given)>;

/// A scaler that gets recorded inputs: it decides what this build decides on them.
class Replay {
 public:
  /// `revision`: its name. `change`: null for the recorded specs.
  Replay(const ScalerStart& start, std::string revision, ScalingChange change = {});

  /// Feeds one input; notes change nothing. Of an evaluation returns what was decided.
  [[nodiscard]] std::optional<DecisionRecord> feed(const RecordedInput& input);

  /// From where another could continue, at `at`.
  [[nodiscard]] ScalerStart start(TimePoint at) const;

 private:
  struct Feed;

  void begin(const ScalerStart& start);
  [[nodiscard]] ScalingSpec changed(const ScalingSpec& scaling) const;

  std::string revision_;
  ScalingChange change_;
  std::shared_ptr<const GivenScaling> given_;
  std::unique_ptr<RevisionScaler> scaler_;
};

}  // namespace sluice::autoscaler
