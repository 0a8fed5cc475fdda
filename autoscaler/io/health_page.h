#pragma once

#include "autoscaler/io/health_check.h"
#include "common/net/server/metrics_server.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// `/livez`, `/readyz` and `/metrics` (protocols.md 5).
class HealthPage final : public metrics::MetricsServer {
 public:
  using Checks = std::function<std::vector<HealthCheck>()>;

  /// Ready when every check is good.
  HealthPage(Checks checks, std::function<void(std::string& out)> write_metrics)
      : MetricsServer{"autoscaler", std::move(write_metrics)}, checks_{std::move(checks)} {}

  void begin(net::Exchange& exchange) override;

 private:
  Checks checks_;
};

/// `2 wrong files: a, b`, cut to a line; empty when `wrong` is.
[[nodiscard]] std::string shown_wrong(const std::vector<std::string>& wrong, std::string_view what);

/// The answer's text: `ok`, or every check on a line when it is `verbose` or one is bad.
[[nodiscard]] std::string health_text(const std::vector<HealthCheck>& checks, bool verbose);

}  // namespace sluice::autoscaler
