#pragma once

#include "activator/core/request_reporter.h"
#include "autoscaler/io/scale_loop.h"
#include "common/loop/asio_loop.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include <memory>

namespace sluice::local {

using autoscaler::ScaledRevision;

/// The loop that scales all revisions of an engine, fed by the front door of the same process.
class ScaleLoop {
 public:
  ScaleLoop(boost::asio::io_context& io, const Clock& clock) : time_{io, clock}, loop_{time_} {}

  /// `revision` must outlive its registration and is told of nothing before this returns.
  /// CHECKs that the name is new and that there is room: an engine numbers the revisions of a
  /// service, also past one of that name that still drains, and bounds the number of services.
  [[nodiscard]] autoscaler::ScalerHandle add(const RevisionId& id,
                                             autoscaler::RevisionScalerSpec spec,
                                             ScaledRevision& revision);

  /// Ends a registration, if it has not ended; the scaler goes to the caller.
  std::unique_ptr<autoscaler::RevisionScaler> remove(autoscaler::ScalerHandle handle) {
    return loop_.remove(handle);
  }

  /// Of a handle that was added and not removed.
  [[nodiscard]] autoscaler::RevisionScaler& scaler(autoscaler::ScalerHandle handle) const {
    return loop_.scaler(handle);
  }

  /// The early word of a first request. May call on_wanted().
  void poke(const activator::RevisionStat& stat);

  /// The report of a second. What lies before an order to sleep must not end it; a new request
  /// does, by its own poke.
  void report(const activator::RevisionStat& stat);

  /// Counts a scrape answer that was dropped because its figures cannot be.
  void count_flawed() { loop_.count_flawed(); }

  [[nodiscard]] const autoscaler::IntakeCounts& counts() const { return loop_.counts(); }

 private:
  AsioLoop time_;
  autoscaler::ScaleLoop loop_;
};

}  // namespace sluice::local
