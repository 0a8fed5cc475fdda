#pragma once

#include "queue-proxy/io/side_servers.h"

#include <functional>
#include <string>

namespace sluice::queue_proxy {

/// `GET /metrics` for Prometheus, in its text format (queue-proxy.md 2 and 12).
class MetricsServer final : public OwnGateway {
 public:
  /// `write` appends the exposition; it is called for each scrape.
  explicit MetricsServer(std::function<void(std::string& out)> write) : write_{std::move(write)} {}

  void begin(net::Exchange& exchange) override;

 private:
  std::function<void(std::string&)> write_;
};

}  // namespace sluice::queue_proxy
