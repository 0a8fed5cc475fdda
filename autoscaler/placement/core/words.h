#pragma once

#include "autoscaler/placement/core/choice.h"
#include "autoscaler/placement/core/ledger.h"
#include "common/model/placement_wish.h"

#include <cstdint>
#include <string>
#include <string_view>

// Refusals in words.
namespace sluice::placement {

/// "no memory: 212 MiB free, needs 256 MiB": what may start now and what one more claims, in bytes.
[[nodiscard]] std::string memory_shortage(std::int64_t free, std::int64_t claim);

/// "0.25" of 250 millicores.
[[nodiscard]] std::string cpu_text(std::int64_t millicores);

/// "1 GiB", else whole mebibytes, rounded down: "612 MiB".
[[nodiscard]] std::string memory_text(std::int64_t bytes);

/// "1 service", "2 services".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);

/// How places are named in words.
struct Naming {
  bool only_place = false;  ///< there is one place alone, so it is not named
  /// For the replicas of that place: "max-replicas 2 reached"; empty: as of any place.
  std::string_view slots_words{};
};

/// Why one place refuses: "fast is full: 4 of 4 replicas".
[[nodiscard]] std::string refusal_words(const Ledger& ledger, const Refusal& refusal,
                                        const Naming& naming);

/// Why a replica has no node, over the places that it may use: "fast is full: 4 of 4 replicas; slow
/// has no memory: 10 MiB free, needs 64 MiB". `wish` is what demand.order was made of.
[[nodiscard]] std::string why_no_node(const Ledger& ledger, const Demand& demand,
                                      const model::PlacementWish& wish, const Naming& naming,
                                      const Gate& gate = {});

/// "no place matches: labels gpu=yes; there are fast, slow". A place that does not exist comes with
/// the name that was probably meant.
[[nodiscard]] std::string no_match_words(const Ledger& ledger, const model::PlacementWish& wish);

}  // namespace sluice::placement
