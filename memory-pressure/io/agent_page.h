#pragma once

#include "common/net/server/metrics_server.h"

#include <functional>
#include <string>

namespace sluice::node_agent {

/// The HTTP paths of a running agent: `GET /livez`, `/readyz`, `/metrics`, `/status`
/// (JSON), and, where `orders` allows it, `POST /off` and `/on`.
class AgentPage final : public metrics::MetricsServer {
 public:
  struct Answers {
    std::function<void(std::string& out)> metrics;
    std::function<std::string()> trouble;    ///< empty: ready
    std::function<std::string()> status;     ///< JSON
    std::function<void(bool on)> switch_on;  ///< absent: no orders at this door
  };

  explicit AgentPage(Answers answers)
      : MetricsServer{"node-agent", answers.metrics}, answers_{std::move(answers)} {}

  void begin(net::Exchange& exchange) override;

 private:
  void take_order(net::Exchange& exchange, bool on);

  Answers answers_;
};

}  // namespace sluice::node_agent
