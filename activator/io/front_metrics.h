#pragma once

#include "activator/io/front_gateway.h"
#include "common/metrics/families.h"

#include <span>

namespace sluice::activator {

/// A revision, and what names its series.
struct NamedRevision {
  RevisionHandle handle;
  metrics::Labels labels;
};

/// The requests of each that wait and that are on pods, under Knative's names (activator.md 11).
void write_request_gauges(metrics::Families& families, const FrontGateway& front,
                          std::span<const NamedRevision> revisions);

}  // namespace sluice::activator
