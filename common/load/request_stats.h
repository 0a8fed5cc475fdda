#pragma once

#include "common/time/time_point.h"

namespace sluice::load {

/// The load of one interval. Averages are over the measured length of the interval, counts are not
/// divided by anything.
struct LoadReport {
  double average_concurrency = 0;          ///< requests in flight, averaged over time
  double average_proxied_concurrency = 0;  ///< the part that came through an activator
  double request_count = 0;                ///< requests that began in the interval
  double proxied_request_count = 0;        ///< the part that came through an activator

  friend bool operator==(const LoadReport&, const LoadReport&) = default;
};

/// Requests in flight, integrated over time rather than sampled: a request that lives between two
/// samples still counts for as long as it lived (queue-proxy.md 6).
///
/// A request counts from before it waits in a breaker until its response body has ended, so a queue
/// is visible to the autoscaler as load. Times may step back: nothing accumulates for a step that
/// is not forward, and the point from which the next interval is measured stays where it was.
class RequestStats {
 public:
  /// The first interval begins at `start`.
  explicit RequestStats(TimePoint start);

  /// A request that did not pass an activator begins, or ends. An end without a beginning is not
  /// refused: concurrency falls below zero, as it does in the reference.
  void in(TimePoint now);
  void out(TimePoint now);

  /// A request sent by an activator begins, or ends. It counts in both pairs of figures.
  void proxied_in(TimePoint now);
  void proxied_out(TimePoint now);

  /// Closes the interval at `now` and begins the next one. Requests in flight are carried over; an
  /// interval of no length reports averages of zero.
  [[nodiscard]] LoadReport report(TimePoint now);

  /// Requests in flight at this moment, proxied ones included.
  [[nodiscard]] double concurrency() const { return concurrency_; }

 private:
  void advance(TimePoint now);

  TimePoint last_;
  double concurrency_ = 0;
  double proxied_concurrency_ = 0;

  // Since the last report. Areas are request-seconds.
  double seconds_ = 0;
  double area_ = 0;
  double proxied_area_ = 0;
  double requests_ = 0;
  double proxied_requests_ = 0;
};

}  // namespace sluice::load
