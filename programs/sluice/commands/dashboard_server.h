#pragma once

#include "common/base/result.h"
#include "common/kube/access.h"
#include "common/kube/bearer.h"
#include "common/kube/server_tls.h"
#include "common/log/log.h"
#include "common/net/address.h"
#include "common/net/server/own_gateway.h"
#include "common/net/server/proxy_server.h"
#include "common/net/upstream/upstream_pool.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "programs/sluice/commands/plugin_run.h"
#include "programs/sluice/commands/plugin_token.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::commands {

/// Serves the page of a cluster's autoscaler on this machine. Requests that only read go on
/// through the API server, with the access's credentials; a body goes to the client as it comes,
/// as fast as the client takes it. Answers that are not the autoscaler's own become problems. One
/// thread.
class DashboardServer final : public net::OwnGateway {
 public:
  /// `servers`: the addresses of the API server, at least one; the first that answers is used.
  /// `tls`: null where the access has none. The first three outlive this.
  DashboardServer(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
                  PersonAccess person, std::unique_ptr<kube::ServerTls> tls,
                  const std::vector<net::Address>& servers, std::string space);
  ~DashboardServer() override;
  DashboardServer(const DashboardServer&) = delete;
  DashboardServer& operator=(const DashboardServer&) = delete;

  /// Serves at this port of 127.0.0.1; 0: a free one. Returns the address in force.
  [[nodiscard]] Result<net::Address, Problem> listen(std::uint16_t port);

  [[nodiscard]] std::unique_ptr<net::ExchangeState> make_state() override;
  void begin(net::Exchange& exchange) override;
  bool upstream_failed(net::Exchange& exchange, const net::ConnectFailure& failure) override;
  net::ResponseVerdict response(net::Exchange& exchange, const http::ResponseHead& head,
                                std::string& extra) override;
  void explain(net::Exchange& exchange, http::OwnResponse& response) override;
  [[nodiscard]] std::string_view timeout_text() const override;

 private:
  struct State;

  void pass_on(net::Exchange& exchange);

  const Clock& clock_;
  kube::Access access_;
  std::unique_ptr<kube::ServerTls> tls_;
  kube::Bearer bearer_;
  std::optional<PluginToken> plugin_;  // where a plugin gave the token
  std::string space_;
  std::string host_;                                       // of the API server
  std::string below_;                                      // before each target there
  std::vector<std::unique_ptr<net::UpstreamPool>> pools_;  // one for each address
  std::size_t current_ = 0;                                // of them: the one that answered last
  net::ProxyServer server_;
};

}  // namespace sluice::commands
