#pragma once

#include "autoscaler/io/holder_socket.h"
#include "common/log/log.h"
#include "common/messages/stat.h"
#include "common/metrics/families.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace sluice::autoscaler {

/// Knative's activators send all stats to one Service. When we are behind it, stats of revisions
/// that Knative's own autoscaler scales are relayed to it. What it cannot take now is dropped: the
/// next second's stat replaces it. Belongs to one thread.
class StatRelay {
 public:
  struct Counts {
    std::uint64_t relayed = 0;
    std::uint64_t dropped = 0;
  };

  /// `address`: host:port of its door for stats. `clock` and `log` outlive this.
  StatRelay(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
            const std::string& address);

  /// Sends on those messages that `others` holds true for.
  void take(std::span<const proto::StatMessage> messages,
            const std::function<bool(const RevisionId&)>& others);

  [[nodiscard]] const Counts& counts() const { return counts_; }

  void write_metrics(metrics::Families& families) const;

 private:
  const Clock& clock_;
  const log::Logger& log_;
  Counts counts_;
  bool failing_ = false;
  HolderSocket socket_;
};

}  // namespace sluice::autoscaler
