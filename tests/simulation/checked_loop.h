#pragma once

#include "common/time/time_point.h"

#include "programs/sluice/simulation/loop.h"
#include "programs/sluice/simulation/world.h"
#include <functional>
#include <string>

namespace sluice::simulation {

/// Independent arrivals, `rate` a second at a time since the start.
[[nodiscard]] Traffic at_rate(std::function<double(Duration)> rate);

/// Runs `world` and judges each decision by Properties, and at the end that no request was put out,
/// left, or stranded. `decisions`: takes all of them, printed; null: they are not kept.
[[nodiscard]] Outcome checked(World world, std::string* decisions = nullptr);

}  // namespace sluice::simulation
