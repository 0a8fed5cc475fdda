#pragma once

#include "common/net/own_gateway.h"
#include "common/proto/stat_codec.h"

#include <functional>
#include <string>
#include <vector>

namespace sluice::queue_proxy {

/// Serves the frozen Stat to whoever scrapes (queue-proxy.md 6).
class StatServer final : public net::OwnGateway {
 public:
  /// Before the first report the Stat carries the pod's name only.
  explicit StatServer(const std::string& pod);

  void freeze(const proto::Stat& stat);
  void begin(net::Exchange& exchange) override;

 private:
  std::string body_;
};

/// `/wait-for-drain` and `/drain` (queue-proxy.md 11, 15.5).
class AdminServer final : public net::OwnGateway {
 public:
  /// `asked` is called for each waiting caller; `final` says that /drain was asked for.
  explicit AdminServer(std::function<void(bool final)> asked)
      : OwnGateway{"queue-proxy"}, asked_{std::move(asked)} {}

  void begin(net::Exchange& exchange) override;
  void end(net::Exchange& exchange, const net::Outcome& outcome) override;

  /// The drain is over, or was undone: every caller gets its 200.
  void release();

 private:
  std::function<void(bool)> asked_;
  std::vector<net::Exchange*> waiting_;  // each leaves in end()
};

}  // namespace sluice::queue_proxy
