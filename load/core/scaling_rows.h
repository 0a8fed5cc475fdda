#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// What an engine tells of a service at one moment, each a number or, if it is not known, NaN.
enum class Scaling : std::size_t {
  ready,     ///< replicas
  starting,  ///< replicas
  draining,  ///< replicas
  desired,   ///< replicas
  stable,    ///< mean of the metric over the stable window
  panic,     ///< mean of the metric over the panic window
  target,    ///< of one replica
  queued,    ///< requests that wait for a replica: held
};

inline constexpr std::array<std::string_view, 8> kScalingNames{
    "ready", "starting", "draining", "desired", "stable", "panic", "target", "queued"};

using ScalingValues = std::array<double, kScalingNames.size()>;

/// Nothing known.
[[nodiscard]] ScalingValues unknown_scaling();

/// A row holds until the next one.
struct ScalingRow {
  Duration at{0};
  ScalingValues values = unknown_scaling();
};

/// What an engine told over a run. Of more than kMost rows each second one is left out, but for
/// the most requests that were queued.
class ScalingRows {
 public:
  static constexpr std::size_t kMost = 8192;

  [[nodiscard]] double now(Scaling what) const { return now_[static_cast<std::size_t>(what)]; }

  /// What is so from `at` on; below zero counts as zero.
  void set(Duration at, Scaling what, double value);
  /// The run begins: earlier rows are dropped, but for what is so now.
  void begin();

  [[nodiscard]] const std::vector<ScalingRow>& rows() const { return rows_; }

  /// The most queued at once; NaN where that is not known.
  [[nodiscard]] double queued_max() const;

  /// Several services as if they were one: the sums of what is known of each. The target of one is
  /// none of all.
  [[nodiscard]] static ScalingRows merged(std::span<const ScalingRows* const> parts);

 private:
  void note(Duration at);

  ScalingValues now_ = unknown_scaling();
  std::vector<ScalingRow> rows_;
  Duration gap_{0};  // rows that follow sooner are one
};

}  // namespace sluice::loadgen
