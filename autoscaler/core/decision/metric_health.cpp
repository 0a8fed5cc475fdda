#include "autoscaler/core/decision/metric_health.h"

namespace sluice::autoscaler {

bool MetricHealth::scraped(std::optional<ScrapeError> error) {
  const bool changed = error != error_;
  error_ = error;
  return changed;
}

}  // namespace sluice::autoscaler
