// What placement shows of its places and of a revision in them.

#include "autoscaler/placement/core/placement.h"

#include <algorithm>

namespace sluice::placement {

std::vector<PlaceFigures> Placement::view() const {
  std::vector<PlaceFigures> views;
  for (const PlaceId id : ledger_.places()) {
    PlaceFigures view{.place = &ledger_.place(id),
                      .totals = ledger_.totals(id),
                      .hole = ledger_.largest_hole(id)};
    for (const auto& [revision, known] : known_) {
      std::int64_t replicas = 0;
      for (const Holding& holding : ledger_.holdings(known.service)) {
        if (ledger_.node(holding.node).place != id) continue;
        replicas += holding.used.slots + holding.reserved.slots;
      }
      if (replicas > 0) view.tenants.push_back({.revision = revision, .replicas = replicas});
    }
    std::sort(view.tenants.begin(), view.tenants.end(), [](const auto& left, const auto& right) {
      return left.replicas != right.replicas ? left.replicas > right.replicas
                                             : left.revision < right.revision;
    });
    views.push_back(std::move(view));
  }
  std::stable_sort(views.begin(), views.end(),
                   [](const PlaceFigures& left, const PlaceFigures& right) {
                     return left.place->preference < right.place->preference;
                   });
  return views;
}

}  // namespace sluice::placement
