#pragma once

#include "common/metrics/families.h"

#include <functional>
#include <prometheus/collectable.h>
#include <string>
#include <utility>
#include <vector>

namespace sluice::metrics {

/// The metrics of a program as prometheus-cpp collects and writes them. The program keeps its own
/// counters: they are read at a scrape, on the thread that scrapes, and nothing is registered.
class Page final : public prometheus::Collectable {
 public:
  /// `write` writes everything, for each scrape. Series of a family that is begun more than once
  /// are written together, under the help of the first.
  explicit Page(std::function<void(Families&)> write) : write_{std::move(write)} {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

  /// Appends the text form, for a MetricsServer.
  void operator()(std::string& out) const;

 private:
  std::function<void(Families&)> write_;
};

}  // namespace sluice::metrics
