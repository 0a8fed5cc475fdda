#pragma once

#include "common/net/exchange.h"
#include "common/proto/stat_codec.h"

#include <functional>
#include <string>
#include <vector>

namespace sluice::queue_proxy {

/// A gateway that answers everything itself; the small servers beside the serving port.
class OwnGateway : public net::Gateway {
 public:
  [[nodiscard]] std::unique_ptr<net::ExchangeState> make_state() override {
    return std::make_unique<net::ExchangeState>();
  }

  bool upstream_failed(net::Exchange& /*exchange*/,
                       const net::ConnectFailure& /*failure*/) override {
    return false;
  }

  net::ResponseVerdict response(net::Exchange& /*exchange*/, const http::ResponseHead& /*head*/,
                                std::string& /*extra*/) override {
    return net::ResponseVerdict::forward;
  }

  void end(net::Exchange& /*exchange*/, const net::Outcome& /*outcome*/) override {}

  [[nodiscard]] std::string_view timeout_text() const override { return "request timeout"; }
  [[nodiscard]] std::string_view place() const override { return "queue-proxy"; }
};

/// Serves the frozen Stat to whoever scrapes (queue-proxy.md 6).
class StatServer final : public OwnGateway {
 public:
  /// Before the first report the Stat carries the pod's name only.
  explicit StatServer(const std::string& pod);

  void freeze(const proto::Stat& stat);
  void begin(net::Exchange& exchange) override;

 private:
  std::string body_;
};

/// `/wait-for-drain` and `/drain` (queue-proxy.md 11, 15.5).
class AdminServer final : public OwnGateway {
 public:
  /// `asked` is called for each waiting caller; `final` says that /drain was asked for.
  explicit AdminServer(std::function<void(bool final)> asked) : asked_{std::move(asked)} {}

  void begin(net::Exchange& exchange) override;
  void end(net::Exchange& exchange, const net::Outcome& outcome) override;

  /// The drain is over, or was undone: every caller gets its 200.
  void release();

 private:
  std::function<void(bool)> asked_;
  std::vector<net::Exchange*> waiting_;  // each leaves in end()
};

}  // namespace sluice::queue_proxy
