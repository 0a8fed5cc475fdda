#pragma once

#include "autoscaler/io/fleet.h"
#include "common/metrics/families.h"

namespace sluice::autoscaler {

/// What names the series of a revision, here and in the metrics of a front door in the same
/// process.
[[nodiscard]] metrics::Labels labels_of(const Revision& revision);

/// What each revision was decided from and what it has, under Knative's names (autoscaler.md 12).
/// Those that another has taken the place of are left out.
void write_fleet_metrics(metrics::Families& families, const Fleet& fleet);

}  // namespace sluice::autoscaler
