#pragma once

#include "autoscaler/io/fleet.h"
#include "autoscaler/io/revision.h"
#include "autoscaler/placement/core/move_view.h"
#include "autoscaler/placement/core/placement.h"
#include "autoscaler/placement/io/mover.h"

#include <nlohmann/json_fwd.hpp>

#include <span>

namespace sluice::autoscaler {

/// Every place with what it has, what is used of it and by which services (protocols.md 5). A
/// figure that nothing bounds is null.
[[nodiscard]] nlohmann::json places_json(const placement::Placement& placement, const Fleet& fleet);

/// How many replicas there are to be in each place: `[{"name":"fast","replicas":3}]`.
[[nodiscard]] nlohmann::json shares_json(std::span<const placement::PlaceShare> shares);

/// The same of a revision as its status has it, with how many are ready.
[[nodiscard]] nlohmann::json shares_json(const Revision& revision);

/// The move of a revision that runs, as its status and explanation have it.
[[nodiscard]] nlohmann::json moving_json(const Revision::MoveOrder& move);

/// A move, as `GET /moves` and the event `move` have it; `line` is for people.
[[nodiscard]] nlohmann::json move_json(const placement::MoveRecord& record);

/// How far the emptying of a place has come.
[[nodiscard]] nlohmann::json drain_json(const Mover::Drain& drain);

}  // namespace sluice::autoscaler
