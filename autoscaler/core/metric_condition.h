#pragma once

#include "autoscaler/core/scrape.h"

#include <optional>
#include <string_view>

namespace sluice::autoscaler {

/// Status of a condition, as Kubernetes has them.
enum class ConditionStatus { no, yes, unknown };

/// The Ready condition of a Metric (autoscaler.md 8.4).
struct MetricCondition {
  ConditionStatus status = ConditionStatus::yes;
  std::string_view reason;  ///< empty when ready
  std::string_view message;

  friend bool operator==(const MetricCondition&, const MetricCondition&) = default;
};

/// The condition that follows from the last scrape; no error: ready.
[[nodiscard]] MetricCondition metric_condition(std::optional<ScrapeError> error);

/// The last scrape error of one revision, so that the owner hears of changes only: a revision that
/// fails each second is one status change, not one a second.
class MetricHealth {
 public:
  /// Takes over how a scrape ended. True when the owner is to be woken.
  [[nodiscard]] bool scraped(std::optional<ScrapeError> error);

  [[nodiscard]] MetricCondition condition() const { return metric_condition(error_); }

 private:
  std::optional<ScrapeError> error_;
};

}  // namespace sluice::autoscaler
