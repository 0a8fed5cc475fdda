#pragma once

#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/resources.h"
#include "common/model/selector.h"

#include <cstdint>
#include <string>

namespace sluice::placement {

enum class PlaceState : std::uint8_t {
  ready,
  stale,     ///< not seen for some time: nothing new goes there, what is there counts
  draining,  ///< being emptied: nothing new goes there
};

/// How nodes of a place are chosen.
enum class Packing : std::uint8_t {
  spread,  ///< the emptiest first
  pack,    ///< the fullest that still has room first
};

/// What counts in the choice among nodes, in thousandths.
struct ScoreWeights {
  std::int64_t fit = 1000;     ///< full or empty, as Packing wants it
  std::int64_t balance = 250;  ///< resources used to equal shares, so that none is stranded

  friend bool operator==(const ScoreWeights&, const ScoreWeights&) = default;
};

/// Where replicas can run: a group of one machine, or a cluster.
struct Place {
  std::string name{};
  std::int32_t preference = 0;  ///< lower is liked more
  model::Labels labels{};
  PlaceState state = PlaceState::ready;
  Packing packing = Packing::spread;
  ScoreWeights weights{};

  friend bool operator==(const Place&, const Place&) = default;
};

enum class NodeState : std::uint8_t { ready, unseen, draining, gone };

enum class Pressure : std::uint8_t { ok, high, critical };

/// What has the capacity: the machine, a group's part of it, or a node of a cluster.
struct Node {
  std::string name{};
  PlaceId place{};
  Resources capacity = kAnything;
  Pressure pressure = Pressure::ok;
  NodeState state = NodeState::ready;

  /// Whether new replicas may go there at all.
  [[nodiscard]] bool takes() const { return state == NodeState::ready && pressure == Pressure::ok; }

  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace sluice::placement
