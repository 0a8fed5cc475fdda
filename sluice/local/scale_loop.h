#pragma once

#include "activator/core/request_reporter.h"
#include "autoscaler/core/multi_scaler.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <vector>

namespace sluice::local {

/// A revision as the loop that scales it knows it.
class ScaledRevision {
 public:
  virtual ~ScaledRevision() = default;
  virtual void on_due(bool evaluate) = 0;  ///< time to scrape, and every other time to evaluate
  virtual void on_wanted() = 0;            ///< requests and nobody to serve them: evaluate now
};

/// The one timer of all revisions of an engine: it sleeps until the next of them is due.
class ScaleLoop {
 public:
  ScaleLoop(boost::asio::io_context& io, const Clock& clock);

  /// `revision` must outlive its registration and is told of nothing before this returns.
  /// CHECKs that the name is new and that there is room: an engine numbers the revisions of a
  /// service, also past one of that name that still drains, and bounds the number of services.
  [[nodiscard]] autoscaler::ScalerHandle add(const RevisionId& id,
                                             autoscaler::RevisionScalerSpec spec,
                                             ScaledRevision& revision);

  /// Ends a registration, if it has not ended; the scaler goes to the caller.
  std::unique_ptr<autoscaler::RevisionScaler> remove(autoscaler::ScalerHandle handle);

  /// Of a handle that was added and not removed.
  [[nodiscard]] autoscaler::RevisionScaler& scaler(autoscaler::ScalerHandle handle) const;

  /// The early word of a first request. May call on_wanted().
  void poke(const activator::RevisionStat& stat);

  /// The report of a second. What lies before an order to sleep must not end it; a new request
  /// does, by its own poke.
  void report(const activator::RevisionStat& stat);

  /// Counts a scrape answer that was dropped because its figures cannot be.
  void count_flawed() { scalers_.count_flawed(); }

  [[nodiscard]] const autoscaler::IntakeCounts& counts() const { return scalers_.counts(); }

 private:
  void push(const activator::RevisionStat& stat);
  void arm();
  void run_due();

  const Clock& clock_;
  autoscaler::MultiScaler scalers_;
  std::vector<ScaledRevision*> revisions_;  // by index of the handle
  std::vector<autoscaler::MultiScaler::Due> due_;
  boost::asio::steady_timer timer_;
};

}  // namespace sluice::local
