#pragma once

#include "autoscaler/placement/core/algorithms.h"
#include "autoscaler/placement/core/ledger.h"
#include "autoscaler/placement/core/policy.h"
#include "autoscaler/placement/core/relocation.h"
#include "autoscaler/placement/core/resources.h"
#include "autoscaler/placement/core/service_book.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// Moves that are not made for a demand: out of a place that is drained, and by hand.
namespace sluice::placement {

/// Why a service does not leave a place.
enum class Stays : std::uint8_t {
  pinned,     ///< it may not be moved
  no_match,   ///< no other place matches
  no_room,    ///< no other place has room for all of it now
  no_starts,  ///< fewer replicas may be started anywhere than its move starts
};

/// The snake_case name used in JSON.
[[nodiscard]] std::string_view name(Stays reason);

/// What can leave a place now, and what cannot.
struct Evacuation {
  struct Remaining {
    ServiceId service{};
    Stays reason = Stays::no_room;

    friend bool operator==(const Remaining&, const Remaining&) = default;
  };

  std::vector<PlannedMove> moves{};  ///< proven together; the ledger is as it was
  std::vector<Remaining> remaining{};
  std::int32_t moving = 0;  ///< services of the place with a move that runs
  bool more = false;        ///< the place has others, for the next call
};

/// Whether its constraint matches another place than this.
[[nodiscard]] bool may_go_elsewhere(const ServiceFacts& facts, PlaceId place);

/// How much may leave a place at a time.
struct EvacuationLimits {
  std::int32_t replicas_max = 0;         ///< that are to move; one service may have more
  std::int64_t starts_max = kUnbounded;  ///< replicas that may be started, of all moves together
};

/// Takes services of the place in the order of the policy, at least one, as far as the limits
/// allow. Age and cool-down do not count (placement.md 5.12).
[[nodiscard]] Evacuation evacuate(Ledger& ledger, const ServiceBook& book, Parameters& parameters,
                                  const MigrationPolicy& policy, PlaceId place,
                                  const EvacuationLimits& limits, const Gate& gate = {});

/// What a service has in one place.
struct Source {
  ServiceId service{};
  PlaceId place{};
};

/// All replicas of all sources to `to`, by hand: no age, no order of places, no worth. Proven
/// together: absent, there is no room for all of them.
[[nodiscard]] std::optional<std::vector<PlannedMove>> move_to(Ledger& ledger,
                                                              const ServiceBook& book,
                                                              std::span<const Source> sources,
                                                              PlaceId to, const Gate& gate = {});

}  // namespace sluice::placement
