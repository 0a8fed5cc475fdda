#pragma once

#include "common/net/server/metrics_server.h"

#include <functional>
#include <string>
#include <vector>

namespace sluice::activator {

/// One thing readiness depends on.
struct Check {
  std::string name;
  std::string problem;  ///< empty: all is well
};

/// `/metrics`, `/livez` and `/readyz?verbose` (protocols.md 5, 6).
class StatusServer final : public metrics::MetricsServer {
 public:
  StatusServer(std::function<void(std::string& out)> write,
               std::function<std::vector<Check>()> checks)
      : MetricsServer{"activator", std::move(write)}, checks_{std::move(checks)} {}

  void begin(net::Exchange& exchange) override;

 private:
  std::function<std::vector<Check>()> checks_;
};

}  // namespace sluice::activator
