#pragma once

#include "common/time/time_point.h"

#include <vector>

namespace sluice::loadgen {

/// How long requests of one kind take, by shares: in lines between the points that are known.
class ServiceTimes {
 public:
  /// A share of the requests, 0 to 1, takes at most `longest`. Points come with rising shares; a
  /// time below the one before it counts as that one.
  void add(double share, Duration longest);

  void clear() { points_.clear(); }

  /// The mean of what at() gives for all shares.
  [[nodiscard]] Duration mean() const;

  /// Makes every time longer or shorter in the same measure, so that the mean is `mean`.
  void scale_to(Duration mean);

  /// Nothing is known.
  [[nodiscard]] bool empty() const { return points_.empty(); }

  /// The time at `share`, 0 to 1, as to draw one from a random number. Below the first point its
  /// time, above the last one that one's. There has to be a point.
  [[nodiscard]] Duration at(double share) const;

  friend bool operator==(const ServiceTimes&, const ServiceTimes&) = default;

 private:
  struct Point {
    double share;
    Duration longest;

    friend bool operator==(const Point&, const Point&) = default;
  };

  std::vector<Point> points_;
};

}  // namespace sluice::loadgen
