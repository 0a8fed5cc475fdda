#pragma once

#include "common/net/server/own_gateway.h"
#include "common/proto/stat_codec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::queue_proxy {

/// Serves the frozen Stat to scrapers (queue-proxy.md 6).
class StatServer final : public net::OwnGateway {
 public:
  /// Before the first report the Stat carries the pod's name only.
  explicit StatServer(const std::string& pod);

  void freeze(const proto::Stat& stat);
  void begin(net::Exchange& exchange) override;

 private:
  std::string body_;
};

/// A call at the administration port.
enum class DrainCall : std::uint8_t {
  drain,      ///< /drain, from loopback only
  tentative,  ///< /wait-for-drain of a caller that may start a drain
  wait,       ///< /wait-for-drain of any other caller: starts nothing
};

/// `/wait-for-drain` and `/drain` (queue-proxy.md 11, 15.5, 15.24). The port answers every address
/// that reaches the pod, so that a drain, which makes the pod unready, is started by the pod's own
/// host only.
class AdminServer final : public net::OwnGateway {
 public:
  using Asked = std::function<void(DrainCall call)>;

  /// `callers`: the IP addresses that may start a drain beside loopback, as peers are written.
  /// `asked` is called for each waiting caller.
  AdminServer(std::vector<std::string> callers, Asked asked)
      : OwnGateway{"queue-proxy"}, callers_{std::move(callers)}, asked_{std::move(asked)} {}

  void begin(net::Exchange& exchange) override;
  void end(net::Exchange& exchange, const net::Outcome& outcome) override;

  /// The drain is over, or was undone: every caller gets its 200.
  void release();

  /// Calls that started nothing get their 200 where `due` has come; returns when the next is due.
  /// `due`: when a call that came then is answered; nothing: not by time.
  using Due = std::function<std::optional<TimePoint>(TimePoint arrived)>;
  [[nodiscard]] std::optional<TimePoint> release_waits(TimePoint now, const Due& due);

 private:
  struct Waiting {
    net::Exchange* exchange = nullptr;  // leaves in end()
    bool starts_nothing = false;
  };

  [[nodiscard]] bool may_start(const net::Exchange& exchange) const;

  std::vector<std::string> callers_;
  Asked asked_;
  std::vector<Waiting> waiting_;
};

}  // namespace sluice::queue_proxy
