#pragma once

#include "autoscaler/core/decision/decider.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <chrono>

namespace sluice::autoscaler {

/// The instant at which the tests of this folder begin: a whole second, far from the clock's epoch.
inline constexpr TimePoint kStart{std::chrono::seconds{1'700'000'000}};

inline const RevisionId kApp{.space = "default", .name = "app-00001"};

/// `second` seconds after kStart.
template <typename Number>
constexpr TimePoint at(Number second) {
  return kStart + from_seconds(static_cast<double>(second));
}

/// A decider that aims at `value` a replica and is left at its defaults otherwise.
inline DeciderSpec target(double value) {
  DeciderSpec spec;
  spec.target_value = value;
  return spec;
}

}  // namespace sluice::autoscaler
