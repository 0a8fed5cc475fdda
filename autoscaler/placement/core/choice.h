#pragma once

#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/resources.h"
#include "common/messages/start_gate.h"
#include "common/model/placement_wish.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::placement {

/// Places that a service may use, in tiers: all of one tier are liked the same.
class PlaceOrder {
 public:
  struct Entry {
    PlaceId place{};
    std::uint32_t tier = 0;  ///< 0 is liked most

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  PlaceOrder() = default;
  /// What `wish` makes of the places there are. The order of `wish.clusters` counts more than the
  /// preference of the places; `pin` leaves one. Whatever their state: that changes more often.
  PlaceOrder(const Ledger& ledger, const model::PlacementWish& wish);

  /// By tier, then by id.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }

  /// Whether the places have changed since, so that it has to be made again.
  [[nodiscard]] bool outdated(const Ledger& ledger) const {
    return version_ != ledger.places_version();
  }

  /// Of a place that is among them.
  [[nodiscard]] std::optional<std::uint32_t> tier_of(PlaceId place) const;

  /// The same without a place.
  [[nodiscard]] PlaceOrder without(PlaceId place) const;

  /// The same without the tiers from that one on: what is liked more.
  [[nodiscard]] PlaceOrder above(std::uint32_t tier) const;

  /// Of all its entries, with 0 the first.
  [[nodiscard]] std::uint32_t tiers() const {
    return entries_.empty() ? 0 : entries_.back().tier + 1;
  }

 private:
  std::vector<Entry> entries_;
  std::uint64_t version_ = 0;
};

/// One replica that wants a node.
struct Demand {
  ServiceId service{};
  Resources need{.slots = 1};         ///< of one replica
  const PlaceOrder* order = nullptr;  ///< of the service; the caller's, for the call
  std::int32_t max_per_node = 0;      ///< replicas; 0: no limit
  std::optional<PlaceId> not_in{};    ///< a place that it leaves
  std::optional<NodeId> not_on{};     ///< a node that it leaves
};

/// Asks the start gate of a node. Empty: no node has a gate. A yes ends the choice with that node.
using Gate = std::function<GateAnswer(NodeId node, const Resources& need)>;

/// Why a replica has no node.
enum class Reason : std::uint8_t {
  none,
  no_matching_place,  ///< refused: no place has what the service asks for
  too_big,            ///< refused: no node could hold it if it were empty
  place_away,         ///< the places that could are stale or being drained
  slots,              ///< the place has as many replicas as it may have
  cpu,
  memory,
  fragmented,  ///< there is room in all, but not on one node
  pressure,    ///< the nodes that could are short of memory, or not ready
  node_limit,  ///< as many of the service run on each node as may
  gate,        ///< the start gate refuses
  gate_later,  ///< the start gate admits one at a time
};

/// Whether waiting is of no use: nothing that ends makes room for it.
[[nodiscard]] constexpr bool refused(Reason reason) {
  return reason == Reason::no_matching_place || reason == Reason::too_big;
}

/// Whether services that leave a place would make room there for it.
[[nodiscard]] constexpr bool moves_may_help(Reason reason) {
  return reason == Reason::slots || reason == Reason::cpu || reason == Reason::memory ||
         reason == Reason::fragmented;
}

/// The snake_case name used in JSON and metrics.
[[nodiscard]] std::string_view name(Reason reason);

/// Why there is none, of the place that the service likes most.
struct Refusal {
  Reason reason = Reason::none;
  PlaceId place{};                 ///< unless no_matching_place
  Reason resource = Reason::none;  ///< if too_big: cpu, memory or slots
  std::int64_t free = 0;           ///< of what is short: millicores, bytes or replicas
  std::int64_t needed = 0;         ///< in the same unit
};

/// Where one replica goes.
struct Choice {
  std::optional<NodeId> node{};
  PlaceId place{};
  std::uint32_t tier = 0;
  Refusal refusal{};  ///< if no node
};

/// Looks for a node for one replica, the most liked tier first (placement.md 5.1, 5.2). Allocates
/// nothing. Changes nothing: who takes the node reserves it.
[[nodiscard]] Choice choose(const Ledger& ledger, const Demand& demand, const Gate& gate = {});

/// The same in one place, whatever the service likes and the state of the place.
[[nodiscard]] Choice choose_in(const Ledger& ledger, const Demand& demand, PlaceId place,
                               const Gate& gate = {});

}  // namespace sluice::placement
