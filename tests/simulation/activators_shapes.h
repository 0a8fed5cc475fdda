#pragma once

#include "tests/simulation/activators_world.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::simulation {

/// What mostly happens in a world of activators.
enum class ActivatorsShape : std::uint8_t {
  calm,       ///< nothing goes wrong
  naps,       ///< short bursts with sleep between them: wakes and removals
  deaths,     ///< pods die, fail, start slowly, refuse and go silent
  links,      ///< streams are cut and stall, files come late
  restarts,   ///< the autoscaler is killed again and again
  crowd,      ///< more activators than pods; they come and go
  clocks,     ///< clocks jump
  websocket,  ///< Knative's form: batches lost, doubled, out of order
  storm,      ///< all of it at once
};

inline constexpr std::array kActivatorsShapes{
    ActivatorsShape::calm,   ActivatorsShape::naps,      ActivatorsShape::deaths,
    ActivatorsShape::links,  ActivatorsShape::restarts,  ActivatorsShape::crowd,
    ActivatorsShape::clocks, ActivatorsShape::websocket, ActivatorsShape::storm};

[[nodiscard]] std::string_view name(ActivatorsShape shape);

/// The world of a shape; its proportions are drawn from the seed.
[[nodiscard]] ActivatorsWorld activators_world(ActivatorsShape shape, std::uint64_t seed);

/// Streams break all the time, and each end notices at once: now and then no activator is
/// connected.
void break_streams(ActivatorsWorld& world);

}  // namespace sluice::simulation
