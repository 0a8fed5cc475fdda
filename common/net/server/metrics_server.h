#pragma once

#include "common/net/server/own_gateway.h"

#include <functional>
#include <string>

namespace sluice::metrics {

/// `GET /metrics` for Prometheus, in its text format (queue-proxy.md 2 and 12).
class MetricsServer : public net::OwnGateway {
 public:
  /// `place` as OwnGateway's; `write` appends the exposition and is called for each scrape.
  MetricsServer(std::string_view place, std::function<void(std::string& out)> write)
      : OwnGateway{place}, write_{std::move(write)} {}

  void begin(net::Exchange& exchange) override;

 private:
  std::function<void(std::string&)> write_;
};

}  // namespace sluice::metrics
