#include "activator/io/front_metrics.h"

namespace sluice::activator {

void write_request_gauges(metrics::Families& families, const FrontGateway& front,
                          std::span<const NamedRevision> revisions) {
  families.family("kn_revision_request_queued", metrics::MetricType::gauge,
                  "Requests waiting for a pod.");
  for (const NamedRevision& each : revisions) {
    families.value(each.labels, front.waiting(each.handle));
  }
  families.family("kn_revision_request_active", metrics::MetricType::gauge,
                  "Requests in progress on pods.");
  for (const NamedRevision& each : revisions) {
    families.value(each.labels, front.in_flight(each.handle));
  }
}

}  // namespace sluice::activator
