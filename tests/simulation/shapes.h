#pragma once

#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"
#include "tests/simulation/curve_world.h"

#include "programs/sluice/simulation/world.h"
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string_view>

namespace sluice::simulation {

/// What traffic does, or what pods do to it.
enum class Shape {
  step,           ///< little, then much at once, and it stays
  spike,          ///< little, with short peaks
  ramp,           ///< slowly up, slowly down
  on_off,         ///< bursts with silence between
  diurnal,        ///< hills by day, no request at night
  slow_starters,  ///< bursts on pods that take minutes to start
  crash_loops,    ///< a step on pods that die while they start or soon after
};

inline constexpr std::array kShapes{Shape::step,       Shape::spike,   Shape::ramp,
                                    Shape::on_off,     Shape::diurnal, Shape::slow_starters,
                                    Shape::crash_loops};

[[nodiscard]] std::string_view name(Shape shape);

/// The load of a shape over `length`, from 0 to `peak`; its proportions are drawn from `random`.
[[nodiscard]] std::function<double(Duration)> load_of(Shape shape, Duration length, double peak,
                                                      std::mt19937_64& random);

/// Rules as users may set them: windows, rates, bounds, delay, metric, aggregation and the way to
/// zero are drawn from `random`.
[[nodiscard]] autoscaler::ScalingSpec scaling_from(std::mt19937_64& random);

/// A quarter of an hour of single requests, two days if diurnal; everything comes from the seed.
[[nodiscard]] World world_of(Shape shape, std::uint64_t seed);

/// Six hours of up to thousands of pods, three days if diurnal; everything comes from the seed.
[[nodiscard]] Curve curve_of(Shape shape, std::uint64_t seed);

}  // namespace sluice::simulation
