#include "autoscaler/core/metric_condition.h"

namespace sluice::autoscaler {

MetricCondition metric_condition(std::optional<ScrapeError> error) {
  if (!error) return {};
  const std::string_view message = describe(*error);
  switch (*error) {
    case ScrapeError::list_failed:
      // Nobody was asked, so nothing is known of the pods.
      return {ConditionStatus::unknown, "NoEndpoints", message};
    case ScrapeError::did_not_receive_stat:
      return {ConditionStatus::no, "DidNotReceiveStat", message};
    case ScrapeError::unreachable:
    case ScrapeError::mesh_status:
    case ScrapeError::bad_status:
    case ScrapeError::wrong_content_type:
    case ScrapeError::undecodable:
    case ScrapeError::implausible:
    case ScrapeError::pods_exhausted:
    case ScrapeError::direct_not_available:
      return {ConditionStatus::no, "CollectionFailed", message};
  }
  return {};
}

bool MetricHealth::scraped(std::optional<ScrapeError> error) {
  const bool changed = error != error_;
  error_ = error;
  return changed;
}

}  // namespace sluice::autoscaler
