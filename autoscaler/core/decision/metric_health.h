#pragma once

#include "autoscaler/core/decision/scrape.h"

#include <optional>

namespace sluice::autoscaler {

/// The last scrape error of one revision, so that the owner gets only changes: a revision that
/// fails each second is one status change, not one a second.
class MetricHealth {
 public:
  /// Takes over how a scrape ended. True when the owner is to be woken.
  [[nodiscard]] bool scraped(std::optional<ScrapeError> error);

 private:
  std::optional<ScrapeError> error_;
};

}  // namespace sluice::autoscaler
