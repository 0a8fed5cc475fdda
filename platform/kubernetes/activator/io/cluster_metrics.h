#pragma once

#include "common/metrics/families.h"

#include "platform/kubernetes/activator/io/cluster_platform.h"
#include "platform/kubernetes/activator/io/scaler_doors.h"

namespace sluice::activator {

/// The figures of the watches and of the ports of RequestScalers (METRICS.md).
void write_cluster_metrics(metrics::Families& families, const ClusterPlatform& cluster,
                           const ScalerDoors& doors);

}  // namespace sluice::activator
