#pragma once

#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/service_book.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <vector>

// One service that goes elsewhere: what every plan is made of.
namespace sluice::placement {

/// All replicas that a service has in a place go to another; or, inside of a place, those of a node
/// to other nodes.
struct PlannedMove {
  ServiceId service{};
  PlaceId from{};
  PlaceId to{};
  std::vector<NodeId> from_nodes{};  ///< one for each replica
  std::vector<NodeId> to_nodes{};    ///< one for each replica; none of from_nodes
  Resources need{};                  ///< of one replica, at the destination

  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

/// When a service may be moved, as far as its age and the rest after its last move count.
[[nodiscard]] TimePoint movable_from(const ServiceFacts& facts, Duration minimum_age);

/// Gives back what the service has in `from`, of one node or of all, and returns the move to be
/// completed.
[[nodiscard]] PlannedMove lift(Trial& trial, ServiceId service, const ServiceFacts& facts,
                               PlaceId from, std::optional<NodeId> node = {});

/// What settling needs besides the move.
struct Settling {
  const ServiceFacts& facts;    ///< of the service; the caller's, as the others
  std::optional<NodeId> off{};  ///< it leaves this node for others of its place
  const Gate& gate;             ///< of destinations
  std::int32_t& trials;         ///< placements tried are added
};

/// Places where a replica of a lifted move has room, the best first; its own if it leaves a node.
[[nodiscard]] std::vector<PlaceId> destinations(const Ledger& ledger, const PlannedMove& move,
                                                const Settling& settling);

/// Takes room in one place for all replicas of a move that was lifted. False: there is not enough;
/// nothing is taken.
[[nodiscard]] bool settle_in(Trial& trial, PlannedMove& move, PlaceId place,
                             const Settling& settling);

/// The same in the first destination that has room for all of them.
[[nodiscard]] bool settle(Trial& trial, PlannedMove& move, const Settling& settling);

}  // namespace sluice::placement
