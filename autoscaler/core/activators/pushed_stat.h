#pragma once

#include "autoscaler/core/decision/collector.h"
#include "common/messages/stat.h"
#include "common/time/time_point.h"

#include <optional>

// Stats as they come: pushed by Knative's activators or another replica, or scraped from a sidecar.
namespace sluice::autoscaler {

[[nodiscard]] Stat figures_of(const proto::Stat& stat);

/// Absent: it has none, or one that is not a plausible time.
[[nodiscard]] std::optional<TimePoint> stamp_of(const proto::Stat& stat);

}  // namespace sluice::autoscaler
