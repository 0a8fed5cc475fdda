#pragma once

#include "load/core/arrivals.h"
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace sluice::loadgen {

/// Deals requests out to targets by their shares. Where arrivals are even, each target is within
/// one request of its share at every instant; where they are independent, so are the draws, by the
/// seed.
class Mix {
 public:
  /// `shares` by target, none below 0 and one above it; empty: `targets` (at least 1) alike.
  Mix(std::vector<double> shares, std::size_t targets, Arrivals arrivals, std::uint64_t seed);

  /// The target of the next request.
  [[nodiscard]] std::size_t next();

 private:
  std::vector<double> shares_;  // they add up to 1
  std::vector<double> owed_;    // uniform: what each has of the requests so far, less what it got
  Arrivals arrivals_;
  std::mt19937_64 random_;
};

}  // namespace sluice::loadgen
