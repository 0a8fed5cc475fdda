#pragma once

#include "common/metrics/families.h"

#include <functional>
#include <string>
#include <utility>

namespace sluice::metrics {

/// What a Page is to the programs that load libraries, for one that is a static file. The program
/// keeps its own counters: they are read at a scrape, on the thread that scrapes, and nothing is
/// registered.
class StaticPage {
 public:
  /// `write` writes everything, for each scrape. Series of a family that is begun more than once
  /// are written together, under the help of the first.
  explicit StaticPage(std::function<void(Families&)> write) : write_{std::move(write)} {}

  /// Appends the text form, for a MetricsServer.
  void operator()(std::string& out) const;

 private:
  std::function<void(Families&)> write_;
};

}  // namespace sluice::metrics
