#pragma once

#include "tests/simulation/activators_ledger.h"
#include "tests/simulation/activators_scale_watch.h"
#include "tests/simulation/activators_timeline.h"
#include "tests/simulation/activators_world.h"

namespace sluice::simulation {

/// What all parts of a run share.
struct Scene {
  explicit Scene(const ActivatorsWorld& of)
      : world(of),
        timeline(of.seed),
        watch(of.websocket ? ScaleWatch::kWakeMaxUnsure : ScaleWatch::kWakeMax) {}

  /// Whether things still go wrong.
  [[nodiscard]] bool faulty() const { return timeline.since_start() < world.length; }

  /// Whether a fault of this share strikes now.
  [[nodiscard]] bool strikes(double share) { return faulty() && timeline.happens(share); }

  /// Whether there is no room for another pod now.
  [[nodiscard]] bool short_of_room() const { return timeline.now() < room_from; }

  ActivatorsWorld world;
  Timeline timeline;
  Ledger ledger;
  ScaleWatch watch;
  ActivatorsOutcome outcome;
  TimePoint room_from{};  // when the present, or last, shortage is over
};

}  // namespace sluice::simulation
