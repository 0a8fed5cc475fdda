#pragma once

#include "common/net/server/metrics_server.h"

#include <functional>
#include <string>

namespace sluice::injector {

/// `/metrics`, `/livez` and `/readyz`.
class HealthPage final : public metrics::MetricsServer {
 public:
  /// `unready`: why it is not ready; empty: it is.
  HealthPage(std::function<void(std::string& out)> write, std::function<std::string()> unready)
      : MetricsServer{"injector", std::move(write)}, unready_{std::move(unready)} {}

  void begin(net::Exchange& exchange) override {
    const std::string_view path = exchange.request().path();
    if (path == "/livez") {
      exchange.respond(http::plain_response(200, "ok\n"));
    } else if (path == "/readyz") {
      const std::string why = unready_();
      exchange.respond(why.empty() ? http::plain_response(200, "ok\n")
                                   : http::plain_response(503, "not ready: " + why + "\n"));
    } else {
      MetricsServer::begin(exchange);
    }
  }

 private:
  std::function<std::string()> unready_;
};

}  // namespace sluice::injector
